use std::fmt;

/// Size and costs of an [`AssemblyPlan`](super::AssemblyPlan).
///
/// ```
/// use evenpath::Device;
/// use evenpath::assembly::AssemblyPlan;
///
/// let device = Device::best()?;
/// let (rows, columns) = (device.upload(&[0_u32, 1, 0])?, device.upload(&[0_u32, 1, 0])?);
/// let plan: AssemblyPlan = AssemblyPlan::new(2, 2, &rows, &columns)?;
/// assert_eq!((plan.info()?.triplets, plan.info()?.nnz), (3, 2));
/// # Ok::<(), evenpath::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct AssemblyPlanInfo {
    /// Triplets, or entries of all element matrices.
    pub triplets: usize,
    /// Entries of the matrix.
    pub nnz: usize,
    /// Bytes of device memory that the plan holds beside the pattern.
    pub workspace_bytes: u64,
    /// Bytes of device memory of the pattern, which the plan and its matrices share.
    pub pattern_bytes: u64,
    /// Milliseconds that the analysis took.
    pub analysis_ms: f64,
}

impl fmt::Display for AssemblyPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { triplets, nnz, workspace_bytes, pattern_bytes, analysis_ms } = self;
        write!(
            f,
            "{triplets} triplets, {nnz} nonzeros, {workspace_bytes} bytes of workspace, {pattern_bytes} of the pattern, \
             analyzed in {analysis_ms:.4} ms"
        )
    }
}
