//! LightSpMV with the grid of a study.

use crate::operand::OpError;
use crate::spmv::SpmvPlan;
use crate::{DeviceCsr, Offset, Value};

/// Plans of SpMV by [`SpmvMethod::Light`](crate::spmv::SpmvMethod::Light) with a grid that depends on the rows alone.
///
/// ```
/// use evenpath::device::SimulatedOptions;
/// use evenpath::{Csr, Device};
/// use evenpath_lab::LightByRows;
///
/// let a: Csr<f32> = Csr::from_triplets(300, 2, (0..300).map(|row| (row, row % 2, 2.0)))?;
/// let device = Device::simulated(SimulatedOptions::default());
/// let plan = device.upload(&a)?.plan_light_by_rows(128)?;
/// assert_eq!(plan.info()?.tiles, 3); // blocks
/// let (x, mut y) = (device.upload(&[1.0, 10.0])?, device.zeros(300)?);
/// plan.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?[..2], [2.0, 20.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait LightByRows<V: Value, O: Offset> {
    /// Plans a product with a block of `block_size` threads for every `block_size` rows, as in the study of CSR-Adaptive and
    /// LightSpMV; a draw is of one row for each vector. The grid of [`plan_spmv`](DeviceCsr::plan_spmv) has only as many
    /// blocks as run at once, and draws of several rows. Results are the same to the last bit.
    ///
    /// # Errors
    ///
    /// The same as for [`plan_spmv`](DeviceCsr::plan_spmv).
    fn plan_light_by_rows(&self, block_size: u32) -> Result<SpmvPlan<V, O>, OpError>;
}

impl<V: Value, O: Offset> LightByRows<V, O> for DeviceCsr<V, O> {
    fn plan_light_by_rows(&self, block_size: u32) -> Result<SpmvPlan<V, O>, OpError> {
        self.plan_light(block_size)
    }
}
