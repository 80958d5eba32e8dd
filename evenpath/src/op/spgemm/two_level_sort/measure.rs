//! Times of the phases.

use super::batches;
use super::entries::BlockSort;
use super::phases::SpgemmPhases;
use super::recorder::Recorder;
use crate::device::DeviceKind;
use crate::format::DeviceCsr;
use crate::op::spgemm::base::{SpgemmOperands, Workspace};
use crate::op::spgemm::options::SpgemmOptions;
use crate::operand::OpError;
use crate::{Offset, Value};

/// Multiplies by two-level sort, and returns the times of the phases; zeros on the CPU, which has no such phases.
pub(crate) fn measure<V: Value, O: Offset>(
    a: &DeviceCsr<V, O>,
    b: &DeviceCsr<V, O>,
    options: SpgemmOptions,
) -> Result<SpgemmPhases, OpError> {
    let operands = SpgemmOperands::check(a, b)?;
    let mut recorder = Recorder::recording();
    if a.device().kind() != DeviceKind::Cpu {
        let workspace = Workspace::new(a.device(), options);
        let sort = BlockSort::of(options.method);
        batches::multiply::<V, O, u64>(&operands.product(), sort, &workspace, &mut recorder)?;
    }
    Ok(recorder.phases()?)
}
