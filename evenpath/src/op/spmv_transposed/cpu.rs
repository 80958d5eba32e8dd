use super::schedule::{HeldBytes, SpmvTransposedSchedule};
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::operand::OpError;
use crate::{Offset, Scalar, cpu};

/// SpMV with the transpose on the CPU, where all methods are the same.
pub(super) struct CpuSpmvTransposed {
    run_bytes: u64,
}

impl CpuSpmvTransposed {
    pub(super) fn new<V: Scalar, O: Offset>(matrix: &DeviceCsr<V, O>) -> Self {
        let pieces = cpu::spmv_transposed_pieces(matrix.ncols(), matrix.nnz());
        let accumulators = if pieces > 1 { pieces } else { 0 };
        Self { run_bytes: (accumulators * matrix.ncols() * V::SIZE) as u64 }
    }
}

impl<V: Scalar, O: Offset> SpmvTransposedSchedule<V, O> for CpuSpmvTransposed {
    fn run(&self, SpmvCall { matrix, alpha, x, beta, y, .. }: SpmvCall<'_, V, O>) -> Result<(), OpError> {
        let values = matrix.values_now();
        let view = matrix.pattern().host_view(&values);
        if let (Some(view), Some(x), Some(y)) = (view, x.host_slice(), y.host_slice_mut()) {
            cpu::spmv_transposed(view, alpha, x, beta, y);
        }
        Ok(())
    }

    fn bytes(&self) -> HeldBytes {
        HeldBytes { held: 0, run: self.run_bytes }
    }
}
