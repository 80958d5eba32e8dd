//! Whether a matrix on a device is canonical.

use std::sync::atomic::Ordering::Relaxed;

use evenpath_kernels::spgemm::SpgemmUnsortedRow;

use super::device_csr::Pattern;
use super::{DeviceCsr, OpError, grid, instance};
use crate::{Offset, Storage};

/// Checks that the columns of every row increase; `operand` is the matrix's name. Waits for the device the first time,
/// after which the pattern, which never changes, is known to be so.
pub(super) fn check_canonical<V: Storage, O: Offset>(
    operand: &'static str,
    matrix: &DeviceCsr<V, O>,
) -> Result<(), OpError> {
    let pattern = matrix.pattern();
    if pattern.is_canonical.load(Relaxed) {
        return Ok(());
    }
    let unsorted = match (pattern.row_offsets.host_slice(), pattern.column_indices.host_slice()) {
        (Some(row_offsets), Some(columns)) => row_offsets
            .windows(2)
            .position(|ends| !columns[ends[0].to_usize()..ends[1].to_usize()].is_sorted_by(|a, b| a < b)),
        _ => find_unsorted_row(matrix, pattern)?,
    };
    if let Some(row) = unsorted {
        return Err(OpError::NotCanonical { operand, row });
    }
    pattern.is_canonical.store(true, Relaxed);
    Ok(())
}

/// The first row whose columns do not increase, on a device with kernels.
fn find_unsorted_row<V: Storage, O: Offset>(
    matrix: &DeviceCsr<V, O>,
    pattern: &Pattern<O>,
) -> Result<Option<usize>, OpError> {
    let device = matrix.device();
    let (rows, nonzeros) = (pattern.rows, matrix.nnz());
    if nonzeros < 2 {
        return Ok(None);
    }
    let mut unsorted = device.zeros::<u32>(1)?;
    let kernel = SpgemmUnsortedRow {
        row_offsets: pattern.row_offsets.as_global(),
        columns: pattern.column_indices.as_global(),
        unsorted: unsorted.as_global_mut(),
        rows: rows as u32,
        nonzeros: nonzeros as u64,
    };
    let info = instance::<SpgemmUnsortedRow<O>>();
    let blocks = grid(rows, nonzeros, (nonzeros as u64).div_ceil(u64::from(info.block_size)))?;
    // SAFETY: the views are of the matrix and of one word; buffers are freed in the stream's order.
    unsafe { device.launch(kernel, info, blocks, 0) }?;
    let from_end = unsorted.get(0)? as usize;
    Ok((from_end > 0).then(|| rows - from_end))
}
