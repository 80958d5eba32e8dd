//! The operands of a product.

use evenpath_kernels::GlobalCsr;

use crate::cpu::{MaskedSpgemm, Spgemm};
use crate::device::Device;
use crate::format::DeviceCsr;
use crate::format::canonical::check_canonical;
use crate::format::values::ValuesNow;
use crate::operand::OpError;
use crate::operand::check::check_shape;
use crate::{Offset, Scalar};

/// The matrices of a product `C = A B`, of fitting shapes, on one device, both canonical.
#[derive(Clone, Copy)]
pub(in crate::op::spgemm) struct SpgemmOperands<'a, V: Scalar, O: Offset> {
    pub(in crate::op::spgemm) a: &'a DeviceCsr<V, O>,
    pub(in crate::op::spgemm) b: &'a DeviceCsr<V, O>,
}

/// A product with the values that its matrices have now.
pub(in crate::op::spgemm) struct SpgemmCall<'a, V: Scalar, O: Offset> {
    pub(in crate::op::spgemm) operands: SpgemmOperands<'a, V, O>,
    pub(in crate::op::spgemm) a_values: ValuesNow<'a, V>,
    pub(in crate::op::spgemm) b_values: ValuesNow<'a, V>,
}

impl<'a, V: Scalar, O: Offset> SpgemmOperands<'a, V, O> {
    /// The operands, if they can be multiplied.
    pub(in crate::op::spgemm) fn check(
        a: &'a DeviceCsr<V, O>,
        b: &'a DeviceCsr<V, O>,
    ) -> Result<Self, OpError> {
        a.device().check_same(b.device())?;
        a.device().refuse_in_graph("a product of matrices waits for the size of its result")?;
        check_shape("B", b.shape(), (a.ncols(), b.ncols()))?;
        check_canonical("A", a.pattern())?;
        check_canonical("B", b.pattern())?;
        Ok(Self { a, b })
    }

    /// The device of both.
    pub(in crate::op::spgemm) fn device(self) -> &'a Device {
        self.a.device()
    }

    /// The patterns of A and B, as kernels take them.
    pub(in crate::op::spgemm) fn views(
        self,
    ) -> (evenpath_kernels::GlobalPattern<O>, evenpath_kernels::GlobalPattern<O>) {
        (self.a.pattern().view(), self.b.pattern().view())
    }

    /// The product with the current values.
    pub(in crate::op::spgemm) fn product(self) -> SpgemmCall<'a, V, O> {
        SpgemmCall { operands: self, a_values: self.a.values_now(), b_values: self.b.values_now() }
    }
}

impl<V: Scalar, O: Offset> SpgemmCall<'_, V, O> {
    /// A and B, as kernels take them.
    pub(in crate::op::spgemm) fn views(&self) -> (GlobalCsr<V, O>, GlobalCsr<V, O>) {
        let SpgemmOperands { a, b } = self.operands;
        (a.pattern().with_values(&self.a_values), b.pattern().with_values(&self.b_values))
    }

    /// The product on the CPU, where its matrices are.
    pub(in crate::op::spgemm) fn on_cpu(&self) -> Spgemm<'_, V, O> {
        let SpgemmOperands { a, b } = self.operands;
        match (a.pattern().host_view(&self.a_values), b.pattern().host_view(&self.b_values)) {
            // SAFETY: the operands were checked.
            (Some(a), Some(b)) => unsafe { Spgemm::new(a, b) },
            _ => unreachable!("the CPU's buffers are the host's"),
        }
    }

    /// The product on the CPU at the entries of a mask, given by its row offsets and column indices.
    pub(in crate::op::spgemm) fn under_mask<'a>(
        &'a self,
        row_offsets: &'a [O],
        column_indices: &'a [u32],
    ) -> MaskedSpgemm<'a, V, O> {
        let SpgemmOperands { a, b } = self.operands;
        match (a.pattern().host_view(&self.a_values), b.pattern().host_view(&self.b_values)) {
            (Some(a), Some(b)) => MaskedSpgemm { a, b, mask: (row_offsets, column_indices) },
            _ => unreachable!("the CPU's buffers are the host's"),
        }
    }
}
