//! Size and costs of a plan for a sum.

use std::fmt;

use crate::operation::Elementwise;

/// The operation and costs of a plan for an element-wise operation.
///
/// ```
/// use evenpath::{Csr, Device};
///
/// let device = Device::best()?;
/// let a = device.upload(&Csr::from_triplets(1, 3, [(0, 0, 1.0), (0, 2, 2.0)])?)?;
/// let b = device.upload(&Csr::from_triplets(1, 3, [(0, 1, 1.0), (0, 2, 2.0)])?)?;
/// let info = a.plan_spadd(&b)?.info()?;
/// assert_eq!(info.nnz, 3); // of the sum
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ElementwisePlanInfo {
    /// The operation.
    pub operation: Elementwise,
    /// The number of entries of the result.
    pub nnz: usize,
    /// Bytes of device memory that the plan holds, besides both matrices and the pattern of the result.
    pub workspace_bytes: u64,
    /// Milliseconds that the analysis took on the device.
    pub analysis_ms: f64,
}

impl fmt::Display for ElementwisePlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, nnz, workspace_bytes, analysis_ms } = self;
        write!(
            f,
            "{operation}: {nnz} nonzeros, {workspace_bytes} bytes of workspace, analyzed in {analysis_ms:.4} ms"
        )
    }
}
