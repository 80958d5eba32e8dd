//! Products where a mask has entries.

use std::sync::Arc;

use evenpath_simt::Arithmetic;

use super::kernels::MaskedProduct;
use crate::cpu::{MaskedSpgemm, in_pool};
use crate::device::DeviceVec;
use crate::format::DeviceCsr;
use crate::format::canonical::check_canonical;
use crate::op::spgemm::base::{SpgemmOperands, Workspace};
use crate::op::spgemm::options::SpgemmOptions;
use crate::operand::OpError;
use crate::operand::check::check_shape;
use crate::operand::requirement::Requirement;
use crate::{Entry, Offset, Scalar};

/// The entries of `C = AB` where the mask has some.
pub(in crate::op::spgemm) fn multiply<V: Scalar, M: Entry, O: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    mask: &DeviceCsr<M, O>,
    options: SpgemmOptions,
) -> Result<DeviceCsr<V, O>, OpError> {
    let sums = (V::ZERO, |left, right, sum| sum + left * right);
    multiply_with::<V, V, M, O>(operands, mask, options, sums, |len| Ok(operands.device().zeros(len)?))
}

/// The entries of C where the mask has some, with sums that begin with `zero` and to which `add` adds the product of its first two
/// arguments. Kernels take values as `E`; `zeros` makes a vector of zeros for them.
pub(in crate::op::spgemm) fn multiply_with<E: Arithmetic, V: Entry, M: Entry, O: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    mask: &DeviceCsr<M, O>,
    options: SpgemmOptions,
    (zero, add): (V, impl Fn(V, V, V) -> V + Sync),
    zeros: impl Fn(usize) -> Result<DeviceVec<V>, OpError>,
) -> Result<DeviceCsr<V, O>, OpError> {
    check_mask(operands, mask)?;
    let device = operands.device();
    let (product, pattern) = (operands.product(), mask.pattern());
    let workspace = Workspace::new(device, options);
    let _values = workspace.take("the values of the result", Requirement::of::<V>(mask.nnz() as u64))?;
    let values = if let Some(mask) = pattern.host_arrays() {
        let mut values = device.uninitialized(pattern.column_indices.len())?;
        if let Some(values) = values.host_slice_mut() {
            let (a, b) = product.host_views();
            in_pool(pattern.rows, || MaskedSpgemm { a, b, mask }.multiply(values, zero, &add));
        }
        values
    } else {
        let (a, b) = (operands.a.pattern(), operands.b.pattern());
        MaskedProduct::<E, O> { device, a, b, mask: pattern, operands: product.views_as() }
            .multiply(&workspace, zeros)?
    };
    Ok(DeviceCsr::from_valid(Arc::clone(pattern), values))
}

/// Refuses a mask that does not fit the product.
pub(super) fn check_mask<V: Entry, M: Entry, O: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    mask: &DeviceCsr<M, O>,
) -> Result<(), OpError> {
    let SpgemmOperands { a, b } = operands;
    a.device().check_same(mask.device())?;
    check_shape("the mask", mask.shape(), (a.nrows(), b.ncols()))?;
    check_canonical("the mask", mask.pattern())
}
