//! Row offsets of another type, or of some rows.

use evenpath_kernels::csr_columns::SubtractOffset;
use evenpath_kernels::spgemm::SpgemmConvertOffsets;

use crate::Offset;
use crate::device::{DeviceSlice, DeviceVec};
use crate::operand::OpError;

/// Converts row offsets to a type that counts them all.
pub(crate) fn convert_offsets<S: Offset, C: Offset>(
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

/// Subtracts the first of some row offsets from all of them, on a device with kernels.
pub(crate) fn offsets_from<O: Offset>(offsets: &DeviceSlice<O>, first: O) -> Result<DeviceVec<O>, OpError> {
    let device = offsets.device();
    let mut shifted = device.uninitialized(offsets.len())?;
    let launch = device.kernel().threads(offsets.len())?;
    let kernel = SubtractOffset {
        source: offsets.as_global(),
        target: shifted.as_global_mut(),
        first: first.to_u64(),
        len: offsets.len() as u64,
    };
    // SAFETY: both have the same number of elements; buffers are freed in the stream's order.
    unsafe { launch.launch(kernel) }?;
    Ok(shifted)
}
