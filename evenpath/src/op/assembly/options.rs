use crate::device::DeviceSlice;

/// Options of an [`AssemblyPlan`](super::AssemblyPlan).
///
/// ```
/// use evenpath::Device;
/// use evenpath::assembly::{AssemblyOptions, AssemblyPlan};
///
/// let device = Device::best()?;
/// let (rows, columns) = (device.upload(&[0_u32, 0, 1, 1])?, device.upload(&[0_u32, 1, 0, 1])?);
/// let fixed = device.upload(&[1_u32])?;
/// let options = AssemblyOptions::default().with_fixed(&fixed);
/// let plan: AssemblyPlan = AssemblyPlan::new_with(2, 2, &rows, &columns, options)?;
/// let a = plan.assemble(&device.upload(&[5.0, 6.0, 7.0, 8.0])?)?;
/// assert_eq!(a.download()?.to_dense()?, [5.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct AssemblyOptions<'a> {
    /// Unknowns whose values are given, such as those of a Dirichlet boundary, in any order; repeated ones count once. Their rows
    /// and columns have only a 1 on the diagonal, which is stored even where no triplet is. The matrix must be square.
    pub fixed: Option<&'a DeviceSlice<u32>>,
}

impl<'a> AssemblyOptions<'a> {
    /// Sets the fixed unknowns.
    #[must_use]
    pub fn with_fixed(self, unknowns: &'a DeviceSlice<u32>) -> Self {
        Self { fixed: Some(unknowns) }
    }
}
