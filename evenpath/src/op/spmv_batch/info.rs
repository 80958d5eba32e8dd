use std::fmt;

/// The choices and costs of a plan for a batch.
///
/// ```
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (1, 2, 1.0)])?;
/// let plan = Device::best()?.upload(&a)?.plan_spmv_batch(8)?;
/// assert_eq!(plan.info().batch, 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpmvBatchPlanInfo {
    /// Number of matrices.
    pub batch: usize,
    /// Number of parts of a matrix, of equal work, each of which a block multiplies in several matrices at once; 0 on the CPU.
    pub tiles: u64,
    /// Bytes of device memory that the plan holds, besides the matrix.
    pub workspace_bytes: u64,
}

impl fmt::Display for SpmvBatchPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batch, tiles, workspace_bytes } = self;
        write!(f, "{batch} matrices, {tiles} tiles, workspace {workspace_bytes} bytes")
    }
}
