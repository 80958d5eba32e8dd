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
    /// Number of lanes that multiply a row, of several matrices at once; 0 on the CPU.
    pub lanes: u32,
    /// Number of pieces of rows that are too long for these lanes; 0 on the CPU.
    pub pieces: u64,
    /// Bytes of device memory that the plan holds, besides the matrix.
    pub workspace_bytes: u64,
}

impl fmt::Display for SpmvBatchPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batch, lanes, pieces, workspace_bytes } = self;
        write!(
            f,
            "{batch} matrices, {lanes} lanes per row, {pieces} pieces, workspace {workspace_bytes} bytes"
        )
    }
}
