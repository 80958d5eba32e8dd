use std::fmt;

use super::options::SpmmOptions;
use crate::format::Layout;

/// Choices and costs of a plan for SpMM.
///
/// ```
/// use evenpath::spmm::SpmmOptions;
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 0.5)])?;
/// let plan = Device::best()?.upload(&a)?.plan_spmm(SpmmOptions::default().with_columns(4))?;
/// println!("{} bytes of workspace", plan.info()?.workspace_bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SpmmPlanInfo {
    /// Number of columns of B for which the plan has workspace.
    pub columns: usize,
    /// Layout of B for which the plan has workspace.
    pub layout: Layout,
    /// Number of rows that are summed in pieces, because one group of lanes would take too long for them.
    pub long_rows: u64,
    /// Number of pieces of these rows.
    pub pieces: u64,
    /// Number of nonzeros in the longest row that is not cut; 0 on the CPU, which cuts none.
    pub longest: u32,
    /// Number of nonzeros in the longest piece; 0 on the CPU.
    pub longest_piece: u32,
    /// Number of multiprocessors for which the work is divided
    /// ([`SpmmOptions::multiprocessors`](super::SpmmOptions)); 0 on the CPU.
    pub multiprocessors: u32,
    /// Bytes of device memory that the plan holds beside the matrix.
    pub workspace_bytes: u64,
    /// Milliseconds that the analysis took on the device.
    pub analysis_ms: f64,
}

impl SpmmPlanInfo {
    /// The options that repeat the choices of the plan. With them, a plan of the same matrix on any other
    /// GPU, real or simulated, gives the same bits.
    pub fn options(&self) -> SpmmOptions {
        let multiprocessors = (self.multiprocessors > 0).then_some(self.multiprocessors);
        SpmmOptions { columns: self.columns, layout: self.layout, multiprocessors }
    }
}

impl fmt::Display for SpmmPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.longest == 0 {
            f.write_str("rows in parallel")?;
        } else if self.pieces == 0 {
            write!(f, "a group of lanes per row (no row is longer than {} nonzeros)", self.longest)?;
        } else {
            let Self { long_rows, pieces, longest, longest_piece, .. } = self;
            write!(
                f,
                "a group of lanes per row, and {long_rows} rows of more than {longest} nonzeros in {pieces} pieces of up to {longest_piece}"
            )?;
        }
        write!(f, ", {} bytes of workspace, analyzed in {:.4} ms", self.workspace_bytes, self.analysis_ms)
    }
}
