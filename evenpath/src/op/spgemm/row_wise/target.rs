use evenpath_simt::GlobalMut;

use crate::Value;
use crate::device::DeviceVec;

/// The arrays of C that the numeric phase reads and writes.
pub(in crate::op::spgemm) struct Target<'c, V: Value> {
    pub(in crate::op::spgemm) row_offsets: &'c DeviceVec<u64>,
    pub(in crate::op::spgemm) column_indices: GlobalMut<u32>,
    pub(in crate::op::spgemm) values: &'c mut DeviceVec<V>,
    /// Whether the column indices are there already.
    pub(in crate::op::spgemm) known: bool,
}
