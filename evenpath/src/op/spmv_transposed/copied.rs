use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::schedule::{HeldBytes, SpmvTransposedSchedule};
use crate::device::{DeviceError, DeviceVec};
use crate::format::DeviceCsr;
use crate::format::transpose::{Transpose, transpose};
use crate::format::values::{CopyState, ValueCopy};
use crate::op::product::SpmvCall;
use crate::op::{SpmvOptions, SpmvPlan, SpmvPlanInfo};
use crate::operand::OpError;
use crate::{Offset, Scalar};

/// SpMV with a transpose built by the plan.
pub(super) struct Copied<V: Scalar, O: Offset> {
    copy: Arc<TransposedCopy<V, O>>,
    plan: SpmvPlan<V, O>,
}

/// The transpose, whose values follow those of the matrix.
struct TransposedCopy<V: Scalar, O: Offset> {
    transpose: Transpose<V, O>,
    state: Mutex<CopyState>,
}

impl<V: Scalar, O: Offset> ValueCopy<V> for TransposedCopy<V, O> {
    fn refresh(&self, values: &DeviceVec<V>, version: u64) -> Result<(), OpError> {
        let mut state = self.state.lock();
        self.transpose.update(values)?;
        state.refreshed(values, version);
        Ok(())
    }
}

impl<V: Scalar, O: Offset> Copied<V, O> {
    pub(super) fn new(matrix: &DeviceCsr<V, O>, spmv: SpmvOptions) -> Result<Self, OpError> {
        let values = matrix.values_now();
        let transpose = transpose(matrix, &values)?;
        let plan = transpose.matrix.plan_spmv(spmv)?;
        let copy = Arc::new(TransposedCopy { transpose, state: Mutex::new(values.copy_state()) });
        let weak: Weak<TransposedCopy<V, O>> = Arc::downgrade(&copy);
        matrix.shared_values().follow(weak);
        Ok(Self { copy, plan })
    }
}

impl<V: Scalar, O: Offset> SpmvTransposedSchedule<V, O> for Copied<V, O> {
    fn run(&self, SpmvCall { matrix, alpha, x, beta, y, .. }: SpmvCall<'_, V, O>) -> Result<(), OpError> {
        let values = matrix.values_now();
        let state = *self.copy.state.lock();
        if state.is_stale(values.version()) {
            self.copy.refresh(&values, values.version())?;
        }
        self.plan.run(alpha, x, beta, y)
    }

    fn bytes(&self) -> HeldBytes {
        let Transpose { matrix, permutation } = &self.copy.transpose;
        HeldBytes { held: matrix.bytes() + permutation.bytes() + self.plan.workspace_bytes(), run: 0 }
    }

    fn copy(&self) -> Result<Option<SpmvPlanInfo>, DeviceError> {
        self.plan.info().map(Some)
    }
}
