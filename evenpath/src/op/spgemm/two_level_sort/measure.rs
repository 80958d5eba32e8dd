//! Times of the phases.

use super::parts;
use super::phases::{Recorder, SpgemmPhases};
use crate::device::DeviceKind;
use crate::format::DeviceCsr;
use crate::op::spgemm::base::{Operands, Workspace};
use crate::op::spgemm::options::SpgemmOptions;
use crate::operand::OpError;
use crate::{Offset, Value};

impl<V: Value, O: Offset> DeviceCsr<V, O> {
    /// How long a product A·B by [`SpgemmMethod::TwoLevelSort`](crate::spgemm::SpgemmMethod::TwoLevelSort) takes on a GPU, real or
    /// simulated, phase by phase: computes it, and drops it. On the CPU there are no such phases, and all times are zero.
    ///
    /// # Errors
    ///
    /// The same as for [`spgemm_with_offsets`](Self::spgemm_with_offsets).
    pub fn two_level_sort_phases(&self, b: &Self, options: SpgemmOptions) -> Result<SpgemmPhases, OpError> {
        let operands = Operands::check(self, b)?;
        let mut recorder = Recorder::recording();
        if self.device().kind() != DeviceKind::Cpu {
            let workspace = Workspace::new(self.device(), options);
            parts::multiply::<V, O, u64>(&operands.product(), &workspace, &mut recorder)?;
        }
        Ok(recorder.phases()?)
    }
}
