//! Two matrices of one shape, and the operation that merges their rows.

use crate::device::Device;
use crate::format::DeviceCsr;
use crate::operand::OpError;
use crate::operand::check::check_shape;
use crate::operation::Elementwise;
use crate::{Offset, Scalar};

/// Two matrices of equal shape on one device, and the operation.
pub(super) struct SpaddOperands<'m, V: Scalar, O: Offset> {
    pub(super) operation: Elementwise,
    pub(super) a: &'m DeviceCsr<V, O>,
    pub(super) b: &'m DeviceCsr<V, O>,
}

/// The factors of A and of B.
pub(super) type Factors<V> = (V, V);

impl<'m, V: Scalar, O: Offset> SpaddOperands<'m, V, O> {
    pub(super) fn new(
        operation: Elementwise,
        a: &'m DeviceCsr<V, O>,
        b: &'m DeviceCsr<V, O>,
    ) -> Result<Self, OpError> {
        check_shape("B", b.shape(), a.shape())?;
        a.device().check_same(b.device())?;
        a.device().refuse_in_graph("a sum of matrices waits for the size of its result")?;
        Ok(Self { operation, a, b })
    }

    pub(super) fn device(&self) -> &'m Device {
        self.a.device()
    }
}

/// Converts the number of nonzeros, if row offsets of this type can count them.
pub(super) fn countable<O: Offset>(nonzeros: u64) -> Result<usize, OpError> {
    let remedy = "convert the operands to u64 row offsets (Csr::try_into_offsets)";
    crate::operand::countable::<O>(nonzeros, remedy)
}
