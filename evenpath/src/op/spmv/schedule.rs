//! The trait that SpMV methods implement, and the choice that a plan keeps.

use super::details::SpmvDetails;
use super::method::SpmvMethod;
use crate::device::DeviceError;
use crate::op::product::SpmvCall;
use crate::policy::Tile;
use crate::{Offset, Storage};

/// Method that a plan runs, and the reason.
pub(super) struct Choice<S: Storage, O: Offset, T: Storage = S> {
    /// With the parameters that runs have.
    pub(super) method: SpmvMethod,
    pub(super) reason: String,
    pub(super) schedule: Boxed<S, O, T>,
}

impl<S: Storage, O: Offset, T: Storage> Choice<S, O, T> {
    /// The choice of a method, which a schedule was prepared for.
    pub(super) fn new(method: SpmvMethod, reason: String, schedule: Boxed<S, O, T>) -> Self {
        Self { method: schedule.method(method), reason, schedule }
    }
}

/// A method, prepared for a matrix.
pub(super) type Boxed<S, O, T = S> = Box<dyn SpmvSchedule<S, O, T>>;

/// A method, prepared for one matrix of values `S` and vectors of `T`.
pub(super) trait SpmvSchedule<S: Storage, O: Offset, T: Storage = S>: Send + Sync {
    /// Launches the product. The matrix is the one that the schedule was made for.
    fn run(&self, product: SpmvCall<'_, S, O, T>) -> Result<(), DeviceError>;

    /// The method with the parameters that runs have; `method` is the one that this was prepared for.
    fn method(&self, method: SpmvMethod) -> SpmvMethod {
        method
    }

    /// How the matrix is cut, and what that takes.
    fn shape(&self) -> ScheduleShape;

    /// Returns whether a run reads the matrix's column indices.
    fn reads_columns(&self) -> bool {
        true
    }
}

/// How a schedule cuts a matrix.
#[derive(Default)]
pub(super) struct ScheduleShape {
    /// Tile of one block, on devices that run kernels.
    pub(super) tile: Option<Tile>,
    /// Pieces that the matrix is cut into.
    pub(super) tiles: u64,
    /// Details of the method, if there are any.
    pub(super) details: Option<SpmvDetails>,
    /// Bytes of device memory that the schedule holds.
    pub(super) workspace_bytes: u64,
}
