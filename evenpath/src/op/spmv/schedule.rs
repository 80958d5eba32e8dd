//! The trait that SpMV methods implement, and the choice that a plan keeps.

use super::method::SpmvMethod;
use crate::device::DeviceError;
use crate::op::product::Product;
use crate::policy::Tile;
use crate::{Offset, Value};

/// Method that a plan runs, and the reason.
pub(super) struct Choice<V: Value, O: Offset> {
    pub(super) method: SpmvMethod,
    pub(super) reason: String,
    pub(super) schedule: Box<dyn Schedule<V, O>>,
}

/// A method, prepared for one matrix.
pub(super) trait Schedule<V: Value, O: Offset>: Send + Sync {
    /// Launches the product. The matrix is the one that the schedule was made for.
    fn run(&self, product: Product<'_, V, O>) -> Result<(), DeviceError>;

    /// How the matrix is cut, and what that takes.
    fn shape(&self) -> Shape;

    /// Returns whether a run reads the matrix's column indices.
    fn reads_columns(&self) -> bool {
        true
    }
}

/// How a schedule cuts a matrix.
#[derive(Default)]
pub(super) struct Shape {
    /// Tile of one block, on devices that run kernels.
    pub(super) tile: Option<Tile>,
    /// Pieces that the matrix is cut into.
    pub(super) tiles: u64,
    /// Lanes per row, where every row has as many.
    pub(super) lanes: Option<u32>,
    /// Other figures, as in [`SpmvPlanInfo`].
    pub(super) figures: Vec<(&'static str, u64)>,
    /// Bytes of device memory that the schedule holds.
    pub(super) workspace_bytes: u64,
}
