//! Products where a mask has entries.

use std::sync::Arc;

use super::options::Allowance;
use super::plan::convert_offsets;
use super::row_wise::{self, Rows, Target};
use super::{Operands, SpgemmOptions};
use crate::device::DeviceKind;
use crate::op::canonical::check_canonical;
use crate::op::operands::check_shape;
use crate::op::{DeviceCsr, OpError};
use crate::{Offset, Value};

/// The entries of `C = AB` where the mask has some.
pub(super) fn multiply<V: Value, M: Value, O: Offset>(
    operands: Operands<'_, V, O>,
    mask: &DeviceCsr<M, O>,
    options: SpgemmOptions,
) -> Result<DeviceCsr<V, O>, OpError> {
    let Operands { a, b } = operands;
    let device = a.device();
    device.check_same(mask.device())?;
    check_shape("the mask", (mask.rows(), mask.cols()), (a.rows(), b.cols()))?;
    check_canonical("the mask", mask.pattern())?;
    let (product, pattern) = (operands.product(), mask.pattern());
    let mut allowance = Allowance::new(device, options)?;
    allowance.take("the values of the result", (mask.nnz() * size_of::<V>()) as u64)?;
    if device.kind() != DeviceKind::Cpu {
        allowance.take("the workspace", row_wise::bytes(mask.rows()))?;
    }
    let mut values = device.uninitialized(mask.nnz())?;
    if device.kind() == DeviceKind::Cpu {
        let arrays = (pattern.row_offsets.host_slice(), pattern.column_indices.host_slice());
        if let ((Some(row_offsets), Some(columns)), Some(values)) = (arrays, values.host_slice_mut()) {
            product.on_cpu().fill_pattern(row_offsets, columns, values);
        }
    } else {
        let rows = Rows::of_pattern(pattern, b.pattern())?;
        let row_offsets = convert_offsets(&pattern.row_offsets)?;
        let target = Target {
            row_offsets: &row_offsets,
            column_indices: pattern.columns_of_known(),
            values: &mut values,
            known: true,
        };
        rows.fill(&product, target, None)?;
    }
    Ok(DeviceCsr::from_valid(Arc::clone(pattern), values))
}
