//! Rows by lanes, with the blocks of a study.

use crate::operand::OpError;
use crate::spmv::SpmvPlan;
use crate::{DeviceCsr, Offset, Value};

/// Plans of SpMV by [`SpmvMethod::Vector`](crate::spmv::SpmvMethod::Vector) with a given number of threads per block.
///
/// ```
/// use evenpath::device::SimulatedOptions;
/// use evenpath::{Csr, Device};
/// use evenpath_lab::LanesInBlocks;
///
/// let a: Csr<f32> = Csr::from_triplets(5, 2, (0..5).map(|row| (row, row % 2, 2.0)))?;
/// let device = Device::simulated(SimulatedOptions::default());
/// let plan = device.upload(&a)?.plan_lanes_in_blocks(32, 64)?; // a warp per row
/// assert_eq!(plan.info()?.tiles, 3); // blocks
/// let (x, mut y) = (device.upload(&[1.0, 10.0])?, device.zeros(5)?);
/// plan.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [2.0, 20.0, 2.0, 20.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LanesInBlocks<V: Value, O: Offset> {
    /// Plans a product with `lanes` threads per row, 1 to 32, and `block_size` threads per block: 32, 64, 128, 256 or 512 for `f32` and
    /// row offsets of `u32`, and otherwise 256, as all plans of [`plan_spmv`](DeviceCsr::plan_spmv) have. Results are the same to the
    /// last bit.
    ///
    /// # Errors
    ///
    /// The same as for [`plan_spmv`](DeviceCsr::plan_spmv).
    fn plan_lanes_in_blocks(&self, lanes: u32, block_size: u32) -> Result<SpmvPlan<V, O>, OpError>;
}

impl<V: Value, O: Offset> LanesInBlocks<V, O> for DeviceCsr<V, O> {
    fn plan_lanes_in_blocks(&self, lanes: u32, block_size: u32) -> Result<SpmvPlan<V, O>, OpError> {
        self.plan_lanes(lanes, block_size)
    }
}
