use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Bytes, Product, Schedule};
use crate::device::{DeviceError, DeviceVec};
use crate::op::transpose::{Transpose, transpose};
use crate::op::{DeviceCsr, OpError, SpmvOptions, SpmvPlan, SpmvPlanInfo};
use crate::{Offset, Value};

/// SpMV with the transpose, which is built with the plan.
pub(super) struct Copied<V: Value, O: Offset> {
    transpose: Transpose<V, O>,
    plan: SpmvPlan<V, O>,
    /// The values that the transpose has, as they are in the matrix; they may be gone. Locked from the comparison with
    /// the matrix's values to the launch, so that another run does not replace them in between.
    source: Mutex<Weak<DeviceVec<V>>>,
}

impl<V: Value, O: Offset> Copied<V, O> {
    pub(super) fn new(matrix: &DeviceCsr<V, O>, spmv: SpmvOptions) -> Result<Self, OpError> {
        let values = matrix.values();
        let transpose = transpose(matrix, &values)?;
        let plan = transpose.matrix.plan_spmv(spmv)?;
        Ok(Self { transpose, plan, source: Mutex::new(Arc::downgrade(&values)) })
    }
}

impl<V: Value, O: Offset> Schedule<V, O> for Copied<V, O> {
    fn run(&self, Product { matrix, alpha, x, beta, y, .. }: Product<'_, V, O>) -> Result<(), OpError> {
        let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
        let values = matrix.values();
        // The weak reference keeps the address from being used again.
        if source.as_ptr() != Arc::as_ptr(&values) {
            self.transpose.update(&values)?;
            *source = Arc::downgrade(&values);
        }
        self.plan.run(alpha, x, beta, y)
    }

    fn bytes(&self) -> Bytes {
        let Transpose { matrix, permutation } = &self.transpose;
        Bytes { held: matrix.bytes() + permutation.bytes() + self.plan.workspace_bytes(), run: 0 }
    }

    fn copy(&self) -> Result<Option<SpmvPlanInfo>, DeviceError> {
        self.plan.info().map(Some)
    }
}
