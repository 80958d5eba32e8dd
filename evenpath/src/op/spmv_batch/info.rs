use std::fmt;

use crate::op::spmv::SpmvMethod;

/// The choices and costs of a plan for a batch.
///
/// ```
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (1, 2, 1.0)])?;
/// let plan = Device::best()?.upload(&a)?.plan_spmv_batch(8, Default::default())?;
/// assert_eq!(plan.info().batch, 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpmvBatchPlanInfo {
    /// Number of matrices.
    pub batch: usize,
    /// Number of parts of a matrix, of equal work, each of which a block multiplies in several matrices at once; 0 on the CPU and one
    /// by one.
    pub tiles: u64,
    /// Method of each matrix, if they are multiplied one by one.
    pub one_by_one: Option<SpmvMethod>,
    /// Bytes of device memory that the plan holds, besides the matrix.
    pub workspace_bytes: u64,
}

impl fmt::Display for SpmvBatchPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batch, tiles, one_by_one, workspace_bytes } = self;
        write!(f, "{batch} matrices, ")?;
        match one_by_one {
            Some(method) => write!(f, "one by one by {method}")?,
            None => write!(f, "{tiles} tiles")?,
        }
        write!(f, ", workspace {workspace_bytes} bytes")
    }
}
