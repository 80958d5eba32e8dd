use std::sync::Arc;

use super::schedule::{HeldBytes, SpmvTransposedSchedule};
use crate::device::DeviceError;
use crate::format::DeviceCsr;
use crate::format::transposed_copy::TransposedCopy;
use crate::op::product::SpmvCall;
use crate::op::{SpmvOptions, SpmvPlan, SpmvPlanInfo};
use crate::operand::OpError;
use crate::{Offset, Scalar};

/// SpMV with a transpose built by the plan.
pub(super) struct Copied<V: Scalar, O: Offset> {
    copy: Arc<TransposedCopy<V, O>>,
    plan: SpmvPlan<V, O>,
}

impl<V: Scalar, O: Offset> Copied<V, O> {
    pub(super) fn new(matrix: &DeviceCsr<V, O>, spmv: SpmvOptions) -> Result<Self, OpError> {
        let copy = TransposedCopy::new(matrix)?;
        let plan = copy.matrix().plan_spmv(spmv)?;
        Ok(Self { copy, plan })
    }
}

impl<V: Scalar, O: Offset> SpmvTransposedSchedule<V, O> for Copied<V, O> {
    fn run(&self, SpmvCall { matrix, alpha, x, beta, y, .. }: SpmvCall<'_, V, O>) -> Result<(), OpError> {
        self.copy.current(matrix)?;
        self.plan.run(alpha, x, beta, y)
    }

    fn bytes(&self) -> HeldBytes {
        HeldBytes { held: self.copy.bytes() + self.plan.workspace_bytes(), run: 0 }
    }

    fn copy(&self) -> Result<Option<SpmvPlanInfo>, DeviceError> {
        self.plan.info().map(Some)
    }
}
