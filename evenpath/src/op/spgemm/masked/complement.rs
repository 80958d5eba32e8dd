//! Products where a mask has no entries.

use std::sync::Arc;

use super::multiply::check_mask;
use crate::format::DeviceCsr;
use crate::op::spgemm::base::SpgemmOperands;
use crate::op::spgemm::options::SpgemmOptions;
use crate::op::spgemm::plan;
use crate::operand::OpError;
use crate::{Entry, Offset, Scalar};

/// The entries of `C = AB` where the mask has none.
pub(in crate::op::spgemm) fn multiply_outside<V: Scalar, M: Entry, O: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    mask: &DeviceCsr<M, O>,
    options: SpgemmOptions,
) -> Result<DeviceCsr<V, O>, OpError> {
    check_mask(operands, mask)?;
    let product = plan::multiply(operands, options)?;
    // The difference of patterns takes matrices of one type.
    let values = operands.device().zeros(mask.nnz())?;
    product.mask_out(&DeviceCsr::from_valid(Arc::clone(mask.pattern()), values))
}
