//! The trait that SpMV methods implement, and the choice that a plan keeps.

use super::details::SpmvDetails;
use super::method::SpmvMethod;
use crate::device::DeviceError;
use crate::op::product::Product;
use crate::policy::Tile;
use crate::{Offset, Value};

/// Method that a plan runs, and the reason.
pub(super) struct Choice<V: Value, O: Offset> {
    /// With the parameters that runs have.
    pub(super) method: SpmvMethod,
    pub(super) reason: String,
    pub(super) schedule: Box<dyn Schedule<V, O>>,
}

impl<V: Value, O: Offset> Choice<V, O> {
    /// The choice of a method, which a schedule was prepared for.
    pub(super) fn new(method: SpmvMethod, reason: String, schedule: Box<dyn Schedule<V, O>>) -> Self {
        Self { method: schedule.method(method), reason, schedule }
    }
}

/// A method, prepared for one matrix.
pub(super) trait Schedule<V: Value, O: Offset>: Send + Sync {
    /// Launches the product. The matrix is the one that the schedule was made for.
    fn run(&self, product: Product<'_, V, O>) -> Result<(), DeviceError>;

    /// The method with the parameters that runs have; `method` is the one that this was prepared for.
    fn method(&self, method: SpmvMethod) -> SpmvMethod {
        method
    }

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
    /// Details of the method, if there are any.
    pub(super) details: Option<SpmvDetails>,
    /// Bytes of device memory that the schedule holds.
    pub(super) workspace_bytes: u64,
}
