use std::fmt;

/// Costs of a plan of an incomplete factorization.
///
/// ```
/// use evenpath::factorization::Ilu0Plan;
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 2, [(0, 0, 2.0), (1, 0, 1.0), (1, 1, 4.0)])?;
/// let plan = Ilu0Plan::new(&Device::best()?.upload(&a)?)?;
/// assert_eq!(plan.info()?.levels, 2); // the second row needs the first
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct FactorizationPlanInfo {
    /// Number of levels: of rows that follow each other, whatever the device.
    pub levels: usize,
    /// Bytes of device memory that the plan holds.
    pub workspace_bytes: u64,
    /// Milliseconds that the analysis took on the device.
    pub analysis_ms: f64,
}

impl fmt::Display for FactorizationPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { levels, workspace_bytes, analysis_ms } = self;
        write!(f, "{levels} levels, {workspace_bytes} bytes of workspace, analyzed in {analysis_ms:.4} ms")
    }
}
