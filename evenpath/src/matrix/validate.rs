//! Checks of constructors.

use std::ops::Range;

use super::blocks::grain;
use super::error::MatrixError;
use super::limits::{MAX_DIMENSION, PADDING};
use crate::{Offset, parallel};

/// Items per task: enough to amortize its cost.
const GRAIN: usize = grain(1 << 15);

pub(crate) fn dimensions(rows: usize, cols: usize) -> Result<(), MatrixError> {
    threads()?;
    if rows > MAX_DIMENSION {
        return Err(MatrixError::TooManyRows { rows });
    }
    if cols > MAX_DIMENSION {
        return Err(MatrixError::TooManyColumns { cols });
    }
    Ok(())
}

/// Checks a range of rows or columns, of which a matrix has `len`.
pub(crate) fn block_range(what: &'static str, range: &Range<usize>, len: usize) -> Result<(), MatrixError> {
    if range.start > range.end || range.end > len {
        return Err(MatrixError::BlockRange { what, begin: range.start, end: range.end, len });
    }
    Ok(())
}

/// Checks a list of columns, of which a matrix has `cols`.
pub(crate) fn listed_columns(list: &[u32], cols: usize) -> Result<(), MatrixError> {
    match first_beyond(list, cols) {
        None => Ok(()),
        Some(position) => Err(MatrixError::ListedColumn { position, column: list[position] as usize, cols }),
    }
}

/// Checks the arrays of a CSR matrix whose `values` has length `values`.
pub(crate) fn csr<O: Offset>(
    rows: usize,
    cols: usize,
    row_offsets: &[O],
    column_indices: &[u32],
    values: usize,
) -> Result<(), MatrixError> {
    dimensions(rows, cols)?;
    let nnz = column_indices.len();
    if nnz != values {
        return Err(MatrixError::ValuesLength { columns: nnz, values });
    }
    offsets(rows, nnz, row_offsets)?;
    match first_beyond(column_indices, cols) {
        None => Ok(()),
        Some(position) => Err(MatrixError::ColumnOutOfRange {
            row: row_of(row_offsets, position),
            position,
            column: column_indices[position] as usize,
            cols,
        }),
    }
}

/// Checks that `row_offsets` goes from 0 to `nnz` without decreasing.
fn offsets<O: Offset>(rows: usize, nnz: usize, row_offsets: &[O]) -> Result<(), MatrixError> {
    let found = row_offsets.len();
    let (Some(&first), Some(&last)) = (row_offsets.first(), row_offsets.last()) else {
        return Err(MatrixError::RowOffsetsLength { rows, found });
    };
    if found - 1 != rows {
        return Err(MatrixError::RowOffsetsLength { rows, found });
    }
    if first != O::ZERO {
        return Err(MatrixError::FirstRowOffset { found: first.to_u64() });
    }
    let decrease =
        parallel::first(rows, GRAIN, |mut rows| rows.find(|&row| row_offsets[row] > row_offsets[row + 1]));
    if let Some(row) = decrease {
        let (start, end) = (row_offsets[row].to_u64(), row_offsets[row + 1].to_u64());
        return Err(MatrixError::RowOffsetsDecrease { row, start, end });
    }
    if last.to_u64() != nnz as u64 {
        return Err(MatrixError::LastRowOffset { found: last.to_u64(), nnz });
    }
    Ok(())
}

/// Checks the arrays of a COO matrix whose `values` has length `values`.
pub(super) fn coo(
    rows: usize,
    cols: usize,
    row_indices: &[u32],
    column_indices: &[u32],
    values: usize,
) -> Result<(), MatrixError> {
    dimensions(rows, cols)?;
    let columns = column_indices.len();
    if row_indices.len() != columns {
        return Err(MatrixError::IndicesLength { rows: row_indices.len(), columns });
    }
    if columns != values {
        return Err(MatrixError::ValuesLength { columns, values });
    }
    if let Some(position) = first_beyond(row_indices, rows) {
        let row = row_indices[position] as usize;
        return Err(MatrixError::RowOutOfRange { position, row, rows });
    }
    if let Some(position) = first_beyond(column_indices, cols) {
        let (row, column) = (row_indices[position] as usize, column_indices[position] as usize);
        return Err(MatrixError::ColumnOutOfRange { row, position, column, cols });
    }
    Ok(())
}

/// The position of the first column in a padded format that is neither below `cols` nor padding.
pub(super) fn first_beyond_or_padding(columns: &[u32], cols: usize) -> Option<usize> {
    let beyond = |column: u32| column as usize >= cols && column != PADDING;
    parallel::first(columns.len(), GRAIN, |mut range| range.find(|&at| beyond(columns[at])))
}

/// Returns an error in a process forked from one that had used the threads that create and convert matrices.
pub(crate) fn threads() -> Result<(), MatrixError> {
    if crate::threads::have_started_here() { Ok(()) } else { Err(MatrixError::Forked) }
}

/// The position of the first index that is not below `bound`.
fn first_beyond(indices: &[u32], bound: usize) -> Option<usize> {
    let beyond = |index: u32| index as usize >= bound;
    parallel::first(indices.len(), GRAIN, |range| {
        let (start, indices) = (range.start, &indices[range]);
        // Test the maximum first: unlike the search, it is vectorized.
        if !indices.iter().copied().max().is_some_and(beyond) {
            return None;
        }
        let at = indices.iter().position(|&index| beyond(index))?;
        Some(start + at)
    })
}

/// The row that the nonzero at `position` belongs to.
fn row_of<O: Offset>(row_offsets: &[O], position: usize) -> usize {
    row_offsets.partition_point(|offset| offset.to_usize() <= position) - 1
}
