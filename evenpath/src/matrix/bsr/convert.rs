//! Conversions from and to CSR.

use std::ops::Range;

use super::super::blocks::{row_blocks, split, split_both};
use super::super::{MatrixError, validate};
use super::fill::{GRAIN, block_columns, rows_of};
use super::matrix::{Bsr, check_block_size};
use crate::memory::try_zeroed;
use crate::{Csr, CsrView, Offset, Value, parallel};

/// Offsets of rows with these lengths, `lengths[i]` being that of row `i`.
fn offsets<O: Offset>(lengths: &[usize]) -> Result<Vec<O>, MatrixError> {
    let total: usize = lengths.iter().sum();
    let out_of_memory = |()| MatrixError::OutOfMemory { rows: lengths.len(), nnz: total };
    let mut offsets: Vec<O> = try_zeroed(lengths.len() + 1).map_err(out_of_memory)?;
    let mut end = 0;
    for (offset, length) in offsets[1..].iter_mut().zip(lengths) {
        end += length;
        *offset = O::try_from_usize(end).ok_or(MatrixError::offset_overflow::<O>(total))?;
    }
    Ok(offsets)
}

/// Counts for each row, in parallel. `count` gets the rows of a task.
fn lengths(
    rows: usize,
    count: impl Fn(Range<usize>, &mut [usize]) + Sync,
) -> Result<Vec<usize>, MatrixError> {
    validate::threads()?;
    let out_of_memory = |()| MatrixError::OutOfMemory { rows, nnz: 0 };
    let mut lengths = try_zeroed(rows).map_err(out_of_memory)?;
    parallel::chunks_mut(&mut lengths, GRAIN, |chunk, lengths| {
        count(chunk * GRAIN..chunk * GRAIN + lengths.len(), lengths);
    });
    Ok(lengths)
}

impl<V: Value, O: Offset> Csr<V, O> {
    /// Converts to BSR, in the same shape: every block of `block_size` rows and columns that has a nonzero is stored, with
    /// zeros where there is none. Blocks of a block row are sorted by column; duplicates are added up.
    ///
    /// [`detect_block_size`](Self::detect_block_size) finds a block size.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(4, 4, [(0, 3, 1.0), (1, 2, 2.0), (3, 3, 3.0)])?;
    /// let bsr = a.to_bsr(2)?;
    /// assert_eq!((bsr.blocks(), bsr.column_indices()), (2, &[1, 1][..]));
    /// assert_eq!(bsr.values(), [0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the block size is not from 1 to [`MAX_BLOCK_SIZE`](crate::bsr::MAX_BLOCK_SIZE), or there is not enough memory for
    /// the values, of which there are up to `block_size * block_size` per nonzero.
    pub fn to_bsr(&self, block_size: usize) -> Result<Bsr<V, O>, MatrixError> {
        check_block_size(block_size)?;
        let view = self.view();
        let lengths = lengths(self.nrows().div_ceil(block_size), |block_rows, lengths| {
            let mut columns = Vec::new();
            for (length, block_row) in lengths.iter_mut().zip(block_rows) {
                block_columns(view, block_row, block_size, &mut columns);
                *length = columns.len();
            }
        })?;
        let row_offsets: Vec<O> = offsets(&lengths)?;
        let blocks: usize = lengths.iter().sum();
        let len = blocks.saturating_mul(block_size * block_size);
        let out_of_memory = |()| MatrixError::OutOfMemory { rows: self.nrows(), nnz: len };
        let mut column_indices = try_zeroed(blocks).map_err(out_of_memory)?;
        let mut values = try_zeroed(len).map_err(out_of_memory)?;
        fill(view, block_size, &row_offsets, &mut column_indices, &mut values);
        Ok(Bsr::from_valid(self.shape(), block_size, row_offsets, column_indices, values))
    }
}

/// Writes the columns and values of all blocks. The values are zero before.
fn fill<V: Value, O: Offset>(
    matrix: CsrView<'_, V, O>,
    size: usize,
    row_offsets: &[O],
    column_indices: &mut [u32],
    values: &mut [V],
) {
    let mut rest = values;
    let ranges = row_blocks(row_offsets);
    let mut tasks = Vec::with_capacity(ranges.len());
    for (block_rows, columns) in split(&ranges, row_offsets, column_indices) {
        let own;
        (own, rest) = rest.split_at_mut(columns.len() * size * size);
        tasks.push((block_rows, columns, own));
    }
    parallel::for_each(tasks, |(block_rows, mut columns, mut values)| {
        let mut own = Vec::new();
        for block_row in block_rows {
            block_columns(matrix, block_row, size, &mut own);
            let (now, now_values);
            (now, columns) = columns.split_at_mut(own.len());
            (now_values, values) = values.split_at_mut(own.len() * size * size);
            now.copy_from_slice(&own);
            fill_block_row(matrix, block_row, size, now, now_values);
        }
    });
}

/// Adds the nonzeros of a block row to its blocks, whose columns are sorted.
fn fill_block_row<V: Value, O: Offset>(
    matrix: CsrView<'_, V, O>,
    block_row: usize,
    size: usize,
    columns: &[u32],
    values: &mut [V],
) {
    for (in_block, row) in rows_of(block_row, size, matrix.nrows()).enumerate() {
        let mut block = 0;
        for nonzero in matrix.range(row) {
            let column = matrix.column_indices()[nonzero];
            let own = column / size as u32;
            // Mostly the block of the nonzero before, or the next one.
            if columns.get(block) != Some(&own) {
                block += 1;
                if columns.get(block) != Some(&own) {
                    block = columns.partition_point(|&other| other < own);
                }
            }
            values[(block * size + in_block) * size + column as usize % size] += matrix.values()[nonzero];
        }
    }
}

impl<V: Value, O: Offset> Bsr<V, O> {
    /// Converts to CSR, without the zeros of blocks. The nonzeros of each row keep their order: by block, then by column.
    ///
    /// A zero that a matrix in CSR stored is not told from those that fill a block, and is dropped too.
    ///
    /// # Errors
    ///
    /// If `O` cannot count the nonzeros, or there is not enough memory.
    pub fn to_csr(&self) -> Result<Csr<V, O>, MatrixError> {
        self.to_csr_with_offsets()
    }

    /// [`to_csr`](Self::to_csr) with row offsets of type `P`: `u64` counts more entries than `u32`.
    ///
    /// # Errors
    ///
    /// The same as for [`to_csr`](Self::to_csr), for `P`.
    pub fn to_csr_with_offsets<P: Offset>(&self) -> Result<Csr<V, P>, MatrixError> {
        let lengths = lengths(self.nrows(), |rows, lengths| {
            for (length, row) in lengths.iter_mut().zip(rows) {
                *length = self.entries(row).count();
            }
        })?;
        let row_offsets: Vec<P> = offsets(&lengths)?;
        let nnz = lengths.iter().sum();
        let out_of_memory = |()| MatrixError::OutOfMemory { rows: self.nrows(), nnz };
        let mut columns: Vec<u32> = try_zeroed(nnz).map_err(out_of_memory)?;
        let mut values: Vec<V> = try_zeroed(nnz).map_err(out_of_memory)?;
        let ranges = row_blocks(&row_offsets);
        parallel::for_each(
            split_both(&ranges, &row_offsets, &mut columns, &mut values),
            |(rows, columns, values)| {
                let entries = rows.flat_map(|row| self.entries(row));
                for ((column, value), entry) in columns.iter_mut().zip(values).zip(entries) {
                    (*column, *value) = entry;
                }
            },
        );
        Ok(Csr::from_valid(self.nrows(), self.ncols(), row_offsets, columns, values))
    }

    /// The values of a row that are not zero, with their columns.
    fn entries(&self, row: usize) -> impl Iterator<Item = (u32, V)> {
        let size = self.block_size();
        let (block_row, in_block) = (row / size, row % size);
        let blocks = self.row_offsets()[block_row].to_usize()..self.row_offsets()[block_row + 1].to_usize();
        blocks.flat_map(move |block| {
            let first = self.column_indices()[block] * size as u32;
            let values = &self.values()[(block * size + in_block) * size..][..size];
            (first..).zip(values.iter().copied()).filter(|&(_, value)| value != V::ZERO)
        })
    }
}
