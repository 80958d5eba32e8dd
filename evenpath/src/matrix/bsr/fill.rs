//! Counts of blocks, and the choice of a block size.

use std::ops::Range;

use super::super::blocks::grain;
use super::super::{MatrixError, validate};
use super::matrix::check_block_size;
use crate::{Csr, CsrView, Offset, Value, parallel};

/// Block rows per task.
pub(super) const GRAIN: usize = grain(1 << 10);

/// Rows of a block row, which may be fewer in the last.
pub(super) fn rows_of(block_row: usize, size: usize, rows: usize) -> Range<usize> {
    block_row * size..rows.min((block_row + 1) * size)
}

/// Writes the block columns of a block row to `columns`: each once, in order.
pub(super) fn block_columns<V: Value, O: Offset>(
    matrix: CsrView<'_, V, O>,
    block_row: usize,
    size: usize,
    columns: &mut Vec<u32>,
) {
    columns.clear();
    let rows = rows_of(block_row, size, matrix.nrows());
    for &column in &matrix.column_indices()[matrix.nonzeros(&rows)] {
        let column = column / size as u32;
        if columns.last() != Some(&column) {
            columns.push(column);
        }
    }
    columns.sort_unstable();
    columns.dedup();
}

/// Number of blocks of `size` rows and columns that have a nonzero.
fn count_blocks<V: Value, O: Offset>(matrix: CsrView<'_, V, O>, size: usize) -> usize {
    if size == 1 && matrix.is_canonical() {
        return matrix.nnz();
    }
    let of_rows = |block_rows: Range<usize>| {
        let mut columns = Vec::new();
        let count = |block_row| {
            block_columns(matrix, block_row, size, &mut columns);
            columns.len()
        };
        block_rows.map(count).sum()
    };
    parallel::reduce(matrix.nrows().div_ceil(size), GRAIN, 0, of_rows, |sum, part: usize| sum + part)
}

impl<V: Value, O: Offset> Csr<V, O> {
    /// Returns the part of the values of blocks of `block_size` rows and columns that are stored nonzeros, from 0 to 1:
    /// the number of nonzeros over that of the values in [`to_bsr`](Self::to_bsr). Blocks are counted exactly. Without nonzeros it is
    /// 1.
    ///
    /// ```
    /// let a = evenpath::Csr::from_triplets(4, 4, [(0, 0, 1.0), (0, 1, 2.0), (1, 0, 3.0), (3, 3, 4.0)])?;
    /// assert_eq!(a.block_fill(2)?, 0.5); // 4 nonzeros in 2 blocks of 4 values
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the block size is not from 1 to [`MAX_BLOCK_SIZE`](crate::bsr::MAX_BLOCK_SIZE); in a process forked from one that had used the
    /// threads that create and convert matrices.
    pub fn block_fill(&self, block_size: usize) -> Result<f64, MatrixError> {
        validate::threads()?;
        check_block_size(block_size)?;
        let blocks = count_blocks(self.view(), block_size);
        let values = (blocks * block_size * block_size) as f64;
        Ok(if blocks == 0 { 1.0 } else { self.nnz() as f64 / values })
    }

    /// Returns the block size for which the arrays of [`to_bsr`](Self::to_bsr) have the fewest bytes, which are those that a
    /// product must read: 2, 3, 4, 5, 6, 8 or 16, the sizes with a kernel of their own, or 1 if CSR has fewer.
    ///
    /// Blocks are counted exactly for each size, in which it differs from `estimate_blocksize` of `scipy.sparse`.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// // Blocks of 3 x 3 on the diagonal.
    /// let a = Csr::from_triplets(9, 9, (0..27).map(|at| (at / 3, at / 9 * 3 + at % 3, 1.0)))?;
    /// assert_eq!(a.detect_block_size()?, 3);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// In a process forked from one that had used the threads that create and convert matrices.
    pub fn detect_block_size(&self) -> Result<usize, MatrixError> {
        validate::threads()?;
        let bytes = |size: usize, blocks: usize| {
            let of_blocks = blocks as u128 * (size * size * size_of::<V>() + size_of::<u32>()) as u128;
            of_blocks + (self.nrows().div_ceil(size) * size_of::<O>()) as u128
        };
        let mut best = (bytes(1, self.nnz()), 1);
        for size in evenpath_kernels::bsr::shape::FIXED_SIZES {
            let found = bytes(size, count_blocks(self.view(), size));
            if found < best.0 {
                best = (found, size);
            }
        }
        Ok(best.1)
    }
}
