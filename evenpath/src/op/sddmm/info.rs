//! Costs of a plan of SDDMM.

use std::fmt;

/// Costs of a plan of SDDMM.
///
/// ```
/// use evenpath::{Csr, Device};
///
/// let c = Device::best()?.upload(&Csr::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 0.5)])?)?;
/// println!("{} bytes of workspace", c.plan_sddmm()?.info()?.workspace_bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SddmmPlanInfo {
    /// Bytes of device memory that the plan holds beside the matrix.
    pub workspace_bytes: u64,
    /// Milliseconds that the analysis took on the device.
    pub analysis_ms: f64,
}

impl fmt::Display for SddmmPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of workspace, analyzed in {:.4} ms", self.workspace_bytes, self.analysis_ms)
    }
}
