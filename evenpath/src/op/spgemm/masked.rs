//! Products where a mask has entries.

use std::sync::Arc;

use super::base::{SpgemmOperands, Workspace, convert_offsets};
use super::options::SpgemmOptions;
use super::row_wise::{self, Target};
use super::symbolic::{self, ClassifiedRows};
use crate::cpu::in_pool;
use crate::device::DeviceKind;
use crate::format::DeviceCsr;
use crate::format::canonical::check_canonical;
use crate::operand::OpError;
use crate::operand::check::check_shape;
use crate::operand::requirement::Requirement;
use crate::{Offset, Scalar};

/// The entries of `C = AB` where the mask has some.
pub(super) fn multiply<V: Scalar, M: Scalar, O: Offset>(
    operands: SpgemmOperands<'_, V, O>,
    mask: &DeviceCsr<M, O>,
    options: SpgemmOptions,
) -> Result<DeviceCsr<V, O>, OpError> {
    let SpgemmOperands { a, b } = operands;
    let device = a.device();
    device.check_same(mask.device())?;
    check_shape("the mask", mask.shape(), (a.nrows(), b.ncols()))?;
    check_canonical("the mask", mask.pattern())?;
    let (product, pattern) = (operands.product(), mask.pattern());
    let workspace = Workspace::new(device, options);
    let _values = workspace.take("the values of the result", Requirement::of::<V>(mask.nnz() as u64))?;
    let required = match device.kind() {
        DeviceKind::Cpu => Requirement::new(0),
        _ => symbolic::required(mask.nrows()),
    };
    let _charge = workspace.take("the workspace", required)?;
    let mut values = device.uninitialized(mask.nnz())?;
    if device.kind() == DeviceKind::Cpu {
        let arrays = (pattern.row_offsets.host_slice(), pattern.column_indices.host_slice());
        if let ((Some(row_offsets), Some(columns)), Some(values)) = (arrays, values.host_slice_mut()) {
            in_pool(a.nrows(), || product.on_cpu().fill_pattern(row_offsets, columns, values));
        }
    } else {
        let rows = ClassifiedRows::of_pattern(pattern, b.pattern())?;
        let row_offsets = convert_offsets(&pattern.row_offsets)?;
        let target = Target {
            row_offsets: &row_offsets,
            column_indices: pattern.columns_of_known(),
            values: &mut values,
            known: true,
        };
        row_wise::fill_known(&rows, &product, target)?;
    }
    Ok(DeviceCsr::from_valid(Arc::clone(pattern), values))
}
