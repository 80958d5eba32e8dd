use std::fmt;

use super::method::TriangularMethod;

/// The choices and costs of a plan of triangular solves.
///
/// ```
/// use evenpath::triangular::TriangularOptions;
/// use evenpath::{Csr, Device};
///
/// // The second row needs the first.
/// let a = Csr::from_triplets(2, 2, [(0, 0, 2.0), (1, 0, 1.0), (1, 1, 4.0)])?;
/// let plan = Device::best()?.upload(&a)?.plan_triangular_solve(TriangularOptions::default())?;
/// assert_eq!(plan.info()?.levels, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TriangularPlanInfo {
    /// The method; on the CPU, where all are the same, the one that was asked for.
    pub method: TriangularMethod,
    /// Number of levels: of rows that follow each other, whatever the device.
    pub levels: usize,
    /// Number of launches of a solve; 0 on the CPU.
    pub launches: usize,
    /// Number of partial sums of a row, which are summed by as many lanes on a GPU.
    pub lanes: u32,
    /// Number of pieces into which long rows are cut; 0 on the CPU.
    pub pieces: usize,
    /// Bytes of device memory that the plan holds, besides the matrix.
    pub workspace_bytes: u64,
    /// Milliseconds that the analysis took on the device.
    pub analysis_ms: f64,
}

impl fmt::Display for TriangularPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, levels, launches, lanes, pieces, workspace_bytes, analysis_ms } = self;
        write!(
            f,
            "{method}, {levels} levels, {launches} launches, {lanes} lanes per row, {pieces} pieces, \
             {workspace_bytes} bytes of workspace, analyzed in {analysis_ms:.4} ms"
        )
    }
}
