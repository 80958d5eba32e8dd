//! Borrowed CSR matrices, the operands of operations.

use std::fmt;
use std::ops::Range;

use super::canonical::first_descent;
use super::{MatrixError, Statistics, validate};
use crate::{Entry, Offset, Scalar};

/// A sparse matrix in CSR form with borrowed arrays. Copying it is as cheap as copying a slice.
///
/// ```
/// use evenpath::csr::CsrView;
///
/// // [1 0 2]
/// // [0 0 3]
/// let view = CsrView::try_new(2, 3, &[0u32, 2, 3], &[0, 2, 2], &[1.0, 2.0, 3.0])?;
/// assert_eq!((view.get(0, 2), view.get(1, 0)), (Some(2.0), None));
/// assert_eq!(view.transpose()?.to_dense()?, [1.0, 0.0, 0.0, 0.0, 2.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CsrView<'a, V, O = u32> {
    rows: usize,
    cols: usize,
    row_offsets: &'a [O],
    column_indices: &'a [u32],
    values: &'a [V],
}

impl<V, O> Clone for CsrView<'_, V, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V, O> Copy for CsrView<'_, V, O> {}

impl<'a, V: Entry, O: Offset> CsrView<'a, V, O> {
    /// Borrows arrays as a matrix of `rows` rows and `cols` columns: `rows + 1` row offsets, and the column
    /// and value of each nonzero, row by row.
    ///
    /// # Errors
    ///
    /// Unless `row_offsets` has length `rows + 1` and runs from 0 to the number of nonzeros without
    /// decreasing, `column_indices` and `values` have one element per nonzero, and all columns are
    /// below `cols`.
    pub fn try_new(
        rows: usize,
        cols: usize,
        row_offsets: &'a [O],
        column_indices: &'a [u32],
        values: &'a [V],
    ) -> Result<Self, MatrixError> {
        validate::csr(rows, cols, row_offsets, column_indices, values.len())?;
        Ok(Self { rows, cols, row_offsets, column_indices, values })
    }

    /// Borrows arrays that [`try_new`](Self::try_new) would accept, unchecked. Operations rely on
    /// that.
    pub(crate) fn from_valid(
        rows: usize,
        cols: usize,
        row_offsets: &'a [O],
        column_indices: &'a [u32],
        values: &'a [V],
    ) -> Self {
        Self { rows, cols, row_offsets, column_indices, values }
    }

    /// Number of rows.
    pub fn nrows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn ncols(&self) -> usize {
        self.cols
    }

    /// Number of rows and number of columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.nrows(), self.ncols())
    }

    /// Number of nonzeros, that is, of stored entries: a stored zero counts.
    pub fn nnz(&self) -> usize {
        self.column_indices.len()
    }

    /// Start of each row in [`column_indices`](Self::column_indices) and [`values`](Self::values): `rows + 1`
    /// offsets, from 0 to `nnz`.
    pub fn row_offsets(&self) -> &'a [O] {
        self.row_offsets
    }

    /// The column of each nonzero, row by row.
    pub fn column_indices(&self) -> &'a [u32] {
        self.column_indices
    }

    /// The value of each nonzero, row by row.
    pub fn values(&self) -> &'a [V] {
        self.values
    }

    /// Positions of the nonzeros of `row`, which must be below `rows`.
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        self.row_offsets[row].to_usize()..self.row_offsets[row + 1].to_usize()
    }

    /// Positions of the nonzeros of consecutive rows.
    pub(crate) fn nonzeros(&self, rows: &Range<usize>) -> Range<usize> {
        self.row_offsets[rows.start].to_usize()..self.row_offsets[rows.end].to_usize()
    }

    /// Checks that every row is sorted by column, without duplicates.
    ///
    /// # Errors
    ///
    /// Names the first row that is not.
    pub fn check_canonical(&self) -> Result<(), MatrixError> {
        match first_descent(self.row_offsets, self.column_indices) {
            None => Ok(()),
            Some((row, previous, column)) => Err(MatrixError::NotCanonical { row, previous, column }),
        }
    }

    /// Returns whether every row is sorted by column without duplicates.
    pub fn is_canonical(&self) -> bool {
        self.check_canonical().is_ok()
    }

    /// Statistics of the row lengths.
    pub fn statistics(&self) -> Statistics {
        Statistics::new(self.rows, self.cols, self.row_offsets)
    }
}

/// Methods that need arithmetic, which the 16-bit types lack.
impl<V: Scalar, O: Offset> CsrView<'_, V, O> {
    /// The value at (`row`, `col`), the sum of duplicates; `None` if nothing is stored there. Takes
    /// time linear in the row's length.
    pub fn get(&self, row: usize, col: usize) -> Option<V> {
        let stored = |(column, value)| (column as usize == col).then_some(value);
        self.row(row)?.iter().filter_map(stored).reduce(|sum, value| sum + value)
    }

    /// All `rows * cols` values, row-major. Duplicates are summed.
    ///
    /// # Errors
    ///
    /// If the values do not fit in memory.
    pub fn to_dense(&self) -> Result<Vec<V>, MatrixError> {
        let too_large = MatrixError::DenseTooLarge { rows: self.rows, cols: self.cols };
        let Some(len) = self.rows.checked_mul(self.cols) else {
            return Err(too_large);
        };
        let mut dense = Vec::new();
        if dense.try_reserve_exact(len).is_err() {
            return Err(too_large);
        }
        dense.resize(len, V::ZERO);
        for (row, column, value) in self.iter() {
            dense[row * self.cols + column] += value;
        }
        Ok(dense)
    }
}

impl<V: Entry, O: Offset> PartialEq for CsrView<'_, V, O> {
    /// Compares shapes and arrays: equal matrices whose nonzeros are in different orders are unequal.
    fn eq(&self, other: &Self) -> bool {
        (self.rows, self.cols) == (other.rows, other.cols)
            && self.row_offsets == other.row_offsets
            && self.column_indices == other.column_indices
            && self.values == other.values
    }
}

impl<V: Entry, O: Offset> fmt::Debug for CsrView<'_, V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, nnz) = (self.rows, self.cols, self.column_indices.len());
        write!(f, "CsrView<{}, {}> {rows} x {cols}, {nnz} nonzeros", V::NAME, O::NAME)
    }
}
