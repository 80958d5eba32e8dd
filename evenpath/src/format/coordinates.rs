//! Coordinates of entries: from sort keys, and to row offsets.

use evenpath_kernels::spadd::SplitCoordinates;

use super::transpose::column_offsets;
use crate::device::{DeviceKind, DeviceSlice, DeviceVec};
use crate::operand::OpError;
use crate::{Offset, cpu};

/// Row and column of each key, which has the row above `column_bits` bits of the column.
pub(crate) fn split_keys(
    keys: &DeviceSlice<u64>,
    column_bits: u32,
) -> Result<(DeviceVec<u32>, DeviceVec<u32>), OpError> {
    let (device, len) = (keys.device(), keys.len());
    let (mut row_indices, mut column_indices) = (device.uninitialized(len)?, device.uninitialized(len)?);
    let on_host = (keys.host_slice(), row_indices.host_slice_mut(), column_indices.host_slice_mut());
    if let (Some(keys), Some(rows), Some(columns)) = on_host {
        cpu::split_coordinates(keys, column_bits, rows, columns);
    } else {
        let launch = device.kernel().threads(len)?;
        let kernel = SplitCoordinates {
            keys: keys.as_global(),
            row_indices: row_indices.as_global_mut(),
            column_indices: column_indices.as_global_mut(),
            column_bits,
            len: len as u64,
        };
        // SAFETY: the views are of live buffers of `len` elements on this device.
        unsafe { launch.launch(kernel) }?;
    }
    Ok((row_indices, column_indices))
}

/// Row offsets of entries sorted by row. The rows are below `rows`, and `O` can count the entries.
pub(crate) fn row_offsets<O: Offset>(
    row_indices: &DeviceSlice<u32>,
    rows: usize,
) -> Result<DeviceVec<O>, OpError> {
    let device = row_indices.device();
    match row_indices.host_slice() {
        Some(indices) if device.kind() == DeviceKind::Cpu => {
            let mut row_offsets = device.zeros(rows + 1)?;
            row_offsets.host_slice_mut().into_iter().for_each(|offsets| write_offsets(indices, offsets));
            Ok(row_offsets)
        }
        _ => column_offsets(row_indices, rows),
    }
}

fn write_offsets<O: Offset>(row_indices: &[u32], offsets: &mut [O]) {
    let mut ends = 0;
    for (row, offset) in offsets.iter_mut().enumerate() {
        while row_indices.get(ends).is_some_and(|&other| (other as usize) < row) {
            ends += 1;
        }
        *offset = O::try_from_usize(ends).unwrap_or_else(|| unreachable!("the entries were counted"));
    }
}
