//! The arrays of C.

use evenpath_kernels::spgemm::SpgemmConvertOffsets;

use super::workspace::{Charge, Workspace};
use crate::device::{Device, DeviceSlice, DeviceVec};
use crate::format::csr::DevicePattern;
use crate::operand::OpError;
use crate::operand::requirement::Requirement;
use crate::{Offset, Value, operand};

/// The arrays of C.
pub(in crate::op::spgemm) struct ProductArrays<V: Value, C: Offset> {
    pub(in crate::op::spgemm) row_offsets: DeviceVec<C>,
    pub(in crate::op::spgemm) column_indices: DeviceVec<u32>,
    pub(in crate::op::spgemm) values: DeviceVec<V>,
}

impl<V: Value, C: Offset> ProductArrays<V, C> {
    /// The pattern of C, of `rows` rows and `cols` columns, and the values.
    pub(in crate::op::spgemm) fn into_pattern(
        self,
        rows: usize,
        cols: usize,
    ) -> (DevicePattern<C>, DeviceVec<V>) {
        let Self { row_offsets, column_indices, values } = self;
        (DevicePattern::canonical(rows, cols, row_offsets, column_indices), values)
    }
}

/// The number of nonzeros of C, if its row offsets count them.
pub(in crate::op::spgemm) fn countable<C: Offset>(nonzeros: u64) -> Result<usize, OpError> {
    operand::countable::<C>(nonzeros, "row offsets of u64 (spgemm_with_offsets::<u64>) count them")
}

/// Device memory of C.
pub(in crate::op::spgemm) fn result_required<V: Value, C: Offset>(rows: usize, nonzeros: u64) -> Requirement {
    Requirement::all_of([
        Requirement::of::<u32>(nonzeros),
        Requirement::of::<V>(nonzeros),
        Requirement::of::<C>(rows as u64 + 1),
    ])
}

/// Room for the columns and values of C, and the charge for all its arrays.
pub(in crate::op::spgemm) fn result_arrays<V: Value, C: Offset>(
    device: &Device,
    rows: usize,
    nonzeros: u64,
    workspace: &Workspace,
) -> Result<(DeviceVec<u32>, DeviceVec<V>, Charge), OpError> {
    let len = countable::<C>(nonzeros)?;
    let charge = workspace.take("the result", result_required::<V, C>(rows, nonzeros))?;
    Ok((device.uninitialized(len)?, device.uninitialized(len)?, charge))
}

/// Row offsets of the type that the result has; they are no greater than it counts.
pub(in crate::op::spgemm) fn convert_offsets<S: Offset, C: Offset>(
    offsets: &DeviceSlice<S>,
) -> Result<DeviceVec<C>, OpError> {
    let device = offsets.device();
    let mut converted = device.uninitialized(offsets.len())?;
    if let (Some(from), Some(to)) = (offsets.host_slice(), converted.host_slice_mut()) {
        for (from, to) in from.iter().zip(to) {
            *to = C::from_bits(from.to_u64());
        }
        return Ok(converted);
    }
    let launch = device.kernel().threads(offsets.len())?;
    let kernel = SpgemmConvertOffsets {
        source: offsets.as_global(),
        target: converted.as_global_mut(),
        len: offsets.len() as u64,
    };
    // SAFETY: both have the same number of elements; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(converted)
}
