//! The arrays of ELL.

use crate::Value;
use crate::device::DeviceVec;

/// Arrays of a valid matrix.
pub(super) struct DeviceEllArrays<V: Value> {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) nnz: usize,
    pub(super) width: usize,
    /// The single slice of ELL, from slot 0 to `width` of each row.
    pub(super) host_slice: [u64; 2],
    pub(super) column_indices: DeviceVec<u32>,
    pub(super) values: DeviceVec<V>,
}
