//! Trait of the methods' implementations.

use crate::device::DeviceError;
use crate::op::SpmvPlanInfo;
use crate::op::product::SpmvCall;
use crate::operand::OpError;
use crate::{Offset, Scalar};

/// A method, prepared for one matrix.
pub(super) trait SpmvTransposedSchedule<V: Scalar, O: Offset>: Send + Sync {
    /// Launches the product. The matrix is the one that the schedule was made for.
    fn run(&self, product: SpmvCall<'_, V, O>) -> Result<(), OpError>;

    /// Bytes of device memory of the schedule, and of a run beside it.
    fn bytes(&self) -> HeldBytes;

    /// Returns the choices of the plan for a copy, if there is one. Waits for its analysis.
    fn copy(&self) -> Result<Option<SpmvPlanInfo>, DeviceError> {
        Ok(None)
    }
}

/// Device memory of a schedule.
#[derive(Default)]
pub(super) struct HeldBytes {
    pub(super) held: u64,
    pub(super) run: u64,
}
