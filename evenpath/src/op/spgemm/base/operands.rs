//! The operands of a product.

use evenpath_kernels::GlobalCsr;
use evenpath_simt::Element;

use crate::cpu::Spgemm;
use crate::device::Device;
use crate::format::DeviceCsr;
use crate::format::canonical::check_canonical;
use crate::format::values::ValuesNow;
use crate::operand::OpError;
use crate::operand::check::check_shape;
use crate::{CsrView, Entry, Offset, Scalar};

/// The matrices of a product `C = A B`, of fitting shapes, on one device, both canonical.
#[derive(Clone, Copy)]
pub(in crate::op::spgemm) struct SpgemmOperands<'a, V: Entry, O: Offset> {
    pub(in crate::op::spgemm) a: &'a DeviceCsr<V, O>,
    pub(in crate::op::spgemm) b: &'a DeviceCsr<V, O>,
}

/// A product with the values that its matrices have now.
pub(in crate::op::spgemm) struct SpgemmCall<'a, V: Entry, O: Offset> {
    pub(in crate::op::spgemm) operands: SpgemmOperands<'a, V, O>,
    pub(in crate::op::spgemm) a_values: ValuesNow<'a, V>,
    pub(in crate::op::spgemm) b_values: ValuesNow<'a, V>,
}

impl<'a, V: Entry, O: Offset> SpgemmOperands<'a, V, O> {
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

impl<V: Entry, O: Offset> SpgemmCall<'_, V, O> {
    /// A and B, as kernels take them, with values as `E`, of the same size.
    pub(in crate::op::spgemm) fn views_as<E: Element>(&self) -> (GlobalCsr<E, O>, GlobalCsr<E, O>) {
        let SpgemmOperands { a, b } = self.operands;
        (a.pattern().with_values_as(&self.a_values), b.pattern().with_values_as(&self.b_values))
    }

    /// A and B on the CPU, where they are.
    pub(in crate::op::spgemm) fn host_views(&self) -> (CsrView<'_, V, O>, CsrView<'_, V, O>) {
        let SpgemmOperands { a, b } = self.operands;
        match (a.pattern().host_view(&self.a_values), b.pattern().host_view(&self.b_values)) {
            (Some(a), Some(b)) => (a, b),
            _ => unreachable!("the CPU's buffers are the host's"),
        }
    }
}

impl<V: Scalar, O: Offset> SpgemmCall<'_, V, O> {
    /// A and B, as kernels take them.
    pub(in crate::op::spgemm) fn views(&self) -> (GlobalCsr<V, O>, GlobalCsr<V, O>) {
        self.views_as()
    }

    /// The product on the CPU, where its matrices are.
    pub(in crate::op::spgemm) fn on_cpu(&self) -> Spgemm<'_, V, O> {
        let (a, b) = self.host_views();
        // SAFETY: the operands were checked.
        unsafe { Spgemm::new(a, b) }
    }
}
