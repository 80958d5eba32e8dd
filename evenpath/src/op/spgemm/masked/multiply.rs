//! Products where a mask has entries.

use std::sync::Arc;

use super::kernels::MaskedProduct;
use crate::cpu::in_pool;
use crate::device::DeviceKind;
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
    check_mask(operands, mask)?;
    let device = operands.device();
    let (product, pattern) = (operands.product(), mask.pattern());
    let workspace = Workspace::new(device, options);
    let _values = workspace.take("the values of the result", Requirement::of::<V>(mask.nnz() as u64))?;
    let values = if device.kind() == DeviceKind::Cpu {
        let mut values = device.uninitialized(mask.nnz())?;
        let arrays = (pattern.row_offsets.host_slice(), pattern.column_indices.host_slice());
        if let ((Some(row_offsets), Some(columns)), Some(values)) = (arrays, values.host_slice_mut()) {
            in_pool(mask.nrows(), || product.under_mask(row_offsets, columns).multiply(values));
        }
        values
    } else {
        let (a, b) = (operands.a.pattern(), operands.b.pattern());
        MaskedProduct { device, a, b, mask: pattern, operands: product.views() }
            .multiply(&workspace, |len| Ok(device.zeros(len)?))?
    };
    Ok(DeviceCsr::from_valid(Arc::clone(pattern), values))
}

/// Refuses a mask that does not fit the product.
pub(in crate::op::spgemm) fn check_mask<V: Scalar, M: Entry, O: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    mask: &DeviceCsr<M, O>,
) -> Result<(), OpError> {
    let SpgemmOperands { a, b } = operands;
    a.device().check_same(mask.device())?;
    check_shape("the mask", mask.shape(), (a.nrows(), b.ncols()))?;
    check_canonical("the mask", mask.pattern())
}
