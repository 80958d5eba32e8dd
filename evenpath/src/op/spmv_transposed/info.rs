use std::fmt;

use super::TransposedMode;

/// What a plan of SpMV with the transpose costs.
///
/// ```
/// use evenpath::{Csr, Device, TransposedMode, TransposedOptions};
///
/// let a: Csr<f64> = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 1, 3.0)])?;
/// let plan = Device::best()?.upload(&a)?.plan_spmv_transposed(TransposedOptions::with_mode(TransposedMode::Copied))?;
/// assert_eq!(plan.info()?.mode, TransposedMode::Copied);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpmvTransposedPlanInfo {
    /// The mode.
    pub mode: TransposedMode,
    /// Bytes of device memory that the plan holds beside the matrix.
    pub workspace_bytes: u64,
    /// Bytes of device memory that a run takes while it runs.
    pub run_bytes: u64,
    /// Milliseconds that the analysis took on the device.
    pub analysis_ms: f64,
}

impl fmt::Display for SpmvTransposedPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, workspace_bytes, run_bytes, analysis_ms } = self;
        write!(
            f,
            "{mode}, {workspace_bytes} bytes of workspace, {run_bytes} more a run, analysed in {analysis_ms:.4} ms"
        )
    }
}
