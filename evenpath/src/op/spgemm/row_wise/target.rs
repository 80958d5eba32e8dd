use evenpath_kernels::spgemm::{ResultEntries, ResultPattern};
use evenpath_simt::GlobalMut;

use crate::Scalar;
use crate::device::DeviceSlice;

/// The arrays of C that the numeric phase reads and writes.
pub(in crate::op::spgemm) struct Target<'c, V: Scalar> {
    pub(in crate::op::spgemm) row_offsets: &'c DeviceSlice<u64>,
    pub(in crate::op::spgemm) column_indices: GlobalMut<u32>,
    pub(in crate::op::spgemm) values: &'c mut DeviceSlice<V>,
    /// True if the column indices are there already.
    pub(in crate::op::spgemm) known: bool,
}

impl<V: Scalar> Target<'_, V> {
    /// The pattern of C, as kernels take it.
    pub(in crate::op::spgemm) fn pattern(&self) -> ResultPattern {
        ResultPattern {
            row_offsets: self.row_offsets.as_global(),
            column_indices: self.column_indices,
            is_known: u32::from(self.known),
        }
    }

    /// C, as kernels take it.
    pub(in crate::op::spgemm) fn view(&mut self) -> ResultEntries<V> {
        ResultEntries { pattern: self.pattern(), values: self.values.as_global_mut() }
    }
}
