use std::fmt;

use super::method::SpmvTransposedMethod;
use super::options::SpmvTransposedOptions;
use crate::op::SpmvPlanInfo;

/// Method and costs of a plan for SpMV with the transpose.
///
/// ```
/// use evenpath::spmv::{SpmvTransposedMethod, SpmvTransposedOptions};
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 1, 3.0)])?;
/// let info = Device::best()?.upload(&a)?.plan_spmv_transposed(SpmvTransposedOptions::default())?.info()?;
/// assert_eq!(info.method, SpmvTransposedMethod::Ordered);
/// assert!(info.copy.is_none()); // no copy of the transpose
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpmvTransposedPlanInfo {
    /// The method.
    pub method: SpmvTransposedMethod,
    /// Bytes of device memory that the plan holds beside the matrix.
    pub workspace_bytes: u64,
    /// Bytes of device memory that a run takes temporarily.
    pub run_bytes: u64,
    /// Milliseconds that the analysis took on the device.
    pub analysis_ms: f64,
    /// Choices of the plan for the copied transpose, if there is one.
    pub copy: Option<SpmvPlanInfo>,
}

impl SpmvTransposedPlanInfo {
    /// The options that repeat the choices of the plan. With them, a plan of the same matrix on any other
    /// GPU, real or simulated, gives the same bits, except with
    /// [`Unordered`](SpmvTransposedMethod::Unordered).
    pub fn options(&self) -> SpmvTransposedOptions {
        let options = SpmvTransposedOptions::default().with_method(self.method);
        self.copy.as_ref().map_or(options, |copy| options.with_spmv(copy.options()))
    }
}

impl fmt::Display for SpmvTransposedPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, workspace_bytes, run_bytes, analysis_ms, copy } = self;
        write!(
            f,
            "{method}, {workspace_bytes} bytes of workspace, {run_bytes} more per run, analyzed in {analysis_ms:.4} ms"
        )?;
        copy.as_ref().map_or(Ok(()), |copy| write!(f, ", multiplied by {copy}"))
    }
}
