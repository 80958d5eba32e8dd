//! Copies of dense matrices whose lines cross those of the original.

use std::ops::Range;

use evenpath_kernels::spmm::{SpmmTranspose, TRANSPOSE_TILE};

use super::dense::DeviceDense;
use crate::Storage;
use crate::device::{DeviceError, DeviceSlice};

/// Maximum number of lines in a tile.
const TILE_LINES: u32 = 32;

impl<T: Storage> DeviceDense<T> {
    /// Copies some lines, which are columns if the matrix is stored by columns, else rows: first the first elements of all of these lines,
    /// then the second ones, without gaps. `target` has room for them. The device is not the CPU.
    pub(crate) fn copy_across(
        &self,
        lines: &Range<usize>,
        target: &mut DeviceSlice<T>,
    ) -> Result<(), DeviceError> {
        let line_len = self.line_len();
        let tile_lines = (lines.len() as u32).min(TILE_LINES).next_power_of_two();
        let tile_elements = TRANSPOSE_TILE / tile_lines;
        let start = (lines.start * self.leading_dimension()).min(self.as_vec().len());
        let kernel = SpmmTranspose {
            source: self.as_vec().as_global().skip(start),
            target: target.as_global_mut(),
            rows: line_len as u32,
            columns: lines.len() as u32,
            source_stride: self.leading_dimension() as u64,
            columns_log2: tile_lines.ilog2(),
        };
        let blocks = line_len.div_ceil(tile_elements as usize) * lines.len().div_ceil(tile_lines as usize);
        let launch = self.device().kernel().blocks(blocks)?;
        // SAFETY: the views are of the matrix and of memory for as many elements as the lines have; both are freed in the stream's order.
        unsafe { launch.launch(kernel) }
    }
}
