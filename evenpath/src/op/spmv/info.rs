use std::fmt;

use super::details::SpmvDetails;
use super::method::SpmvMethod;
use super::options::SpmvOptions;
use crate::policy::Tile;

/// Choices and costs of a plan.
///
/// ```
/// use evenpath::spmv::SpmvOptions;
/// use evenpath::{Csr, Device};
///
/// let a = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?;
/// let info = Device::best()?.upload(&a)?.plan_spmv(SpmvOptions::default())?.info()?;
/// println!("by {}: {}", info.method, info.reason);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpmvPlanInfo {
    /// The method, with the parameters that runs have. [`SpmvMethod::without_parameters`] is only the method.
    pub method: SpmvMethod,
    /// Why it was chosen.
    pub reason: String,
    /// The tile, on devices that run kernels.
    pub tile: Option<Tile>,
    /// Tiles that the matrix is cut into.
    pub tiles: u64,
    /// Details of the method, such as rows per warp or row blocks of each kind, if it has any.
    pub details: Option<SpmvDetails>,
    /// Bytes of device memory that the plan holds beside the matrix.
    pub workspace_bytes: u64,
    /// Milliseconds that the analysis took on the device.
    pub analysis_ms: f64,
}

impl SpmvPlanInfo {
    /// The options that ask for what the plan chose. With them, a plan of the same matrix on any other GPU, real or
    /// simulated, gives the same bits.
    pub fn options(&self) -> SpmvOptions {
        SpmvOptions { method: self.method, may_copy: false }
    }
}

impl fmt::Display for SpmvPlanInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}), {} tiles", self.method, self.reason, self.tiles)?;
        if let Some(tile) = self.tile {
            write!(f, " of {} threads x {} items", tile.block_size, tile.items_per_thread)?;
        }
        for (name, figure) in self.details.iter().flat_map(SpmvDetails::figures) {
            write!(f, ", {figure} {name}")?;
        }
        write!(f, ", {} bytes of workspace, analyzed in {:.4} ms", self.workspace_bytes, self.analysis_ms)
    }
}
