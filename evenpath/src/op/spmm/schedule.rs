//! Implementation of a plan on its device.

use super::info::SpmmPlanInfo;
use super::kernels::SpmmKernels;
use super::options::SpmmOptions;
use crate::device::DeviceKind;
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::{Offset, Storage};

/// Implementation on a device.
pub(super) enum SpmmSchedule<T: Storage> {
    Cpu,
    Kernels(Box<SpmmKernels<T>>),
}

impl<T: Storage> SpmmSchedule<T> {
    /// Analyzes the matrix for kernels, if its device runs them.
    pub(super) fn analyze<S: Storage, O: Offset>(
        matrix: &DeviceCsr<S, O>,
        options: SpmmOptions,
    ) -> Result<Self, OpError> {
        match matrix.device().kind() {
            DeviceKind::Cpu => Ok(Self::Cpu),
            DeviceKind::Cuda(_) | DeviceKind::Simulated => {
                Ok(Self::Kernels(Box::new(SpmmKernels::analyze(matrix, options)?)))
            }
        }
    }

    /// The choices and the workspace, without what the options say.
    pub(super) fn info(&self) -> SpmmPlanInfo {
        match self {
            Self::Cpu => SpmmPlanInfo::default(),
            Self::Kernels(kernels) => kernels.info(),
        }
    }
}
