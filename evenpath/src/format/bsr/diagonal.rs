use evenpath_kernels::bsr::DiagonalBlocks;

use super::matrix::DeviceBsr;
use crate::device::{DeviceError, DeviceVec};
use crate::{Offset, Value};

impl<V: Value, O: Offset> DeviceBsr<V, O> {
    /// Returns the blocks on the diagonal, row by row: `block_size * block_size` values for each block row, of as many block
    /// rows as there are block rows and block columns. A block that is not stored is zero; duplicates are added up. Runs in
    /// the order of the device's stream; the call does not wait.
    ///
    /// ```
    /// use evenpath::{Csr, Device};
    ///
    /// let a = Csr::from_triplets(2, 4, [(0, 1, 1.0), (1, 0, 2.0), (1, 2, 3.0)])?;
    /// let a = Device::best()?.upload(&a.to_bsr(2)?)?;
    /// assert_eq!(a.diagonal_blocks()?.download()?, [0.0, 1.0, 2.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is too little memory, or the device was lost.
    pub fn diagonal_blocks(&self) -> Result<DeviceVec<V>, DeviceError> {
        let count = self.block_rows().min(self.block_cols());
        let mut blocks = self.device().uninitialized(count * self.block_size() * self.block_size())?;
        if let Some(arrays) = self.host_arrays() {
            if let Some(blocks) = blocks.host_slice_mut() {
                arrays.write_diagonal(blocks);
            }
            return Ok(blocks);
        }
        let launch = self.device().kernel().warps(count)?;
        let kernel =
            DiagonalBlocks { matrix: self.view(), blocks: blocks.as_global_mut(), count: count as u32 };
        // SAFETY: the views are of a valid matrix's arrays, and of as many values as `count` blocks have; buffers are freed
        // in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(blocks)
    }
}
