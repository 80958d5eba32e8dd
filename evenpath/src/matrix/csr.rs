//! Compressed sparse rows: the format that operations start from.

use std::fmt;

use rayon::prelude::*;

use super::canonical::{Arrays, Duplicates};
use super::{Coo, CsrView, InvalidCsr, MatrixError, Row, Rows, Statistics, validate};
use crate::{Offset, Storage, Value};

/// A sparse matrix in compressed sparse row form.
///
/// The nonzeros of row `i` are at positions `row_offsets[i] .. row_offsets[i + 1]` of `column_indices` and
/// `values`. The arrays are checked once, when the matrix is made. Within a row, columns may come in any
/// order and more than once, a repeated entry standing for the sum; a matrix where the columns of every
/// row increase is *canonical*, which some operations need ([`canonicalize`](Self::canonicalize)).
///
/// ```
/// use evenpath::Csr;
///
/// // [1 0 2]
/// // [0 0 3]
/// let a = Csr::try_new(2, 3, vec![0u32, 2, 3], vec![0, 2, 2], vec![1.0, 2.0, 3.0])?;
/// assert_eq!((a.rows(), a.cols(), a.nnz()), (2, 3, 3));
/// assert_eq!(a.get(1, 2), Some(3.0));
///
/// // A refusal says what is wrong and gives the buffers back.
/// let refused = Csr::try_new(2, 3, vec![0u32, 2, 3], vec![0, 2, 7], vec![1.0, 2.0, 3.0]).unwrap_err();
/// assert_eq!(refused.to_string(), "column 7 at position 2, in row 1: the matrix has 3 columns");
/// let (row_offsets, column_indices, values) = refused.into_parts();
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Clone)]
pub struct Csr<V, O = u32> {
    rows: usize,
    cols: usize,
    row_offsets: Vec<O>,
    column_indices: Vec<u32>,
    values: Vec<V>,
}

impl<V: Storage, O: Offset> Csr<V, O> {
    /// Makes a `rows` x `cols` matrix of its arrays.
    ///
    /// # Errors
    /// Unless `row_offsets` has length `rows + 1` and goes from 0 to the number of nonzeros without
    /// decreasing, `column_indices` and `values` have that length, and columns are below `cols`.
    /// The error holds the buffers.
    pub fn try_new(
        rows: usize,
        cols: usize,
        row_offsets: Vec<O>,
        column_indices: Vec<u32>,
        values: Vec<V>,
    ) -> Result<Self, InvalidCsr<V, O>> {
        match validate::csr(rows, cols, &row_offsets, &column_indices, values.len()) {
            Ok(()) => Ok(Self { rows, cols, row_offsets, column_indices, values }),
            Err(error) => Err(InvalidCsr { error, row_offsets, column_indices, values }),
        }
    }

    /// The matrix of arrays that [`try_new`](Self::try_new) would accept: operations rely on it without
    /// checking again.
    pub(crate) fn from_valid(
        rows: usize,
        cols: usize,
        row_offsets: Vec<O>,
        column_indices: Vec<u32>,
        values: Vec<V>,
    ) -> Self {
        debug_assert_eq!(validate::csr(rows, cols, &row_offsets, &column_indices, values.len()), Ok(()));
        Self { rows, cols, row_offsets, column_indices, values }
    }

    /// A matrix without nonzeros.
    ///
    /// # Errors
    /// Where a dimension is beyond [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION), or there is no memory for the row offsets.
    pub fn empty(rows: usize, cols: usize) -> Result<Self, MatrixError> {
        validate::dimensions(rows, cols)?;
        let out_of_memory = |()| MatrixError::OutOfMemory { rows, nnz: 0 };
        let row_offsets = bytemuck::allocation::try_zeroed_vec(rows + 1).map_err(out_of_memory)?;
        Ok(Self::from_valid(rows, cols, row_offsets, Vec::new(), Vec::new()))
    }

    /// The arrays: row offsets, column indices, values.
    pub fn into_parts(self) -> (Vec<O>, Vec<u32>, Vec<V>) {
        (self.row_offsets, self.column_indices, self.values)
    }

    /// The matrix as operations take it.
    pub fn view(&self) -> CsrView<'_, V, O> {
        CsrView::from_valid(self.rows, self.cols, &self.row_offsets, &self.column_indices, &self.values)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of nonzeros, that is, of stored entries: a stored zero counts.
    pub fn nnz(&self) -> usize {
        self.column_indices.len()
    }

    /// Where each row starts; length `rows + 1`, from 0 to `nnz`.
    pub fn row_offsets(&self) -> &[O] {
        &self.row_offsets
    }

    /// Column of every nonzero, row by row.
    pub fn column_indices(&self) -> &[u32] {
        &self.column_indices
    }

    /// Value of every nonzero, row by row.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// Value of every nonzero, to be changed; the pattern stays.
    pub fn values_mut(&mut self) -> &mut [V] {
        &mut self.values
    }

    /// One row; `None` where the matrix has fewer.
    pub fn row(&self, row: usize) -> Option<Row<'_, V>> {
        self.view().row(row)
    }

    /// All rows, from the first to the last.
    pub fn iter_rows(&self) -> Rows<'_, V, O> {
        self.view().iter_rows()
    }

    /// Row, column and value of every nonzero, row by row.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, V)> + use<'_, V, O> {
        self.view().iter()
    }

    /// Checks that the columns of every row increase: sorted, and none twice.
    ///
    /// # Errors
    /// Names the first row that is not so.
    pub fn check_canonical(&self) -> Result<(), MatrixError> {
        self.view().check_canonical()
    }

    /// Whether every row is sorted by column without duplicates.
    pub fn is_canonical(&self) -> bool {
        self.view().is_canonical()
    }

    /// How the nonzeros are spread over the rows.
    pub fn statistics(&self) -> Statistics {
        self.view().statistics()
    }

    /// The same matrix with another type of row offset.
    ///
    /// # Errors
    /// Where `P` cannot count the nonzeros; the error holds the buffers.
    pub fn try_into_offsets<P: Offset>(self) -> Result<Csr<V, P>, InvalidCsr<V, O>> {
        let Self { rows, cols, row_offsets, column_indices, values } = self;
        let converted: Option<Vec<P>> =
            row_offsets.par_iter().map(|offset| P::try_from_usize(offset.to_usize())).collect();
        let Some(row_offsets_converted) = converted else {
            let error = MatrixError::offset_overflow::<P>(values.len());
            return Err(InvalidCsr { error, row_offsets, column_indices, values });
        };
        Ok(Csr { rows, cols, row_offsets: row_offsets_converted, column_indices, values })
    }

    /// The same matrix with another type of value: each the nearest, of two the even one, and infinite where out of
    /// range.
    #[must_use]
    pub fn into_values<W: Storage>(self) -> Csr<W, O> {
        let Self { rows, cols, row_offsets, column_indices, values } = self;
        let values = values.par_iter().map(|value| W::from_f64(value.to_f64())).collect();
        Csr { rows, cols, row_offsets, column_indices, values }
    }
}

/// What takes arithmetic, which the 16-bit types have none of.
impl<V: Value, O: Offset> Csr<V, O> {
    /// Makes a canonical matrix of (row, column, value) triplets in any order; those with the same row
    /// and column are added up in the order given.
    ///
    /// ```
    /// let a: evenpath::Csr<f64> = evenpath::Csr::from_triplets(2, 2, [(1, 0, 1.0), (0, 1, 2.0), (1, 0, 3.0)])?;
    /// assert_eq!(a.get(1, 0), Some(4.0));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    /// Where a row or column is outside the matrix, or there are more triplets than `O` can count.
    pub fn from_triplets(
        rows: usize,
        cols: usize,
        triplets: impl IntoIterator<Item = (usize, usize, V)>,
    ) -> Result<Self, MatrixError> {
        Coo::from_triplets(rows, cols, triplets)?.to_csr(Duplicates::Sum)
    }

    /// The value stored at (`row`, `col`), the sum where it is stored more than once; `None` where
    /// nothing is stored. Takes time proportional to the row.
    pub fn get(&self, row: usize, col: usize) -> Option<V> {
        self.view().get(row, col)
    }

    /// Sorts every row by column and adds up duplicates in the order in which they are stored.
    pub fn canonicalize(&mut self) {
        let summed = self.apply(Duplicates::Sum);
        debug_assert_eq!(summed, Ok(()));
    }

    pub(super) fn apply(&mut self, duplicates: Duplicates) -> Result<(), MatrixError> {
        let Self { row_offsets, column_indices, values, .. } = self;
        Arrays { row_offsets, column_indices, values }.canonicalize(duplicates)
    }

    /// The transpose. Its rows are sorted, and without duplicates where this matrix has none.
    ///
    /// A matrix of very many columns has a transpose of as many rows. Where there is no memory for it the process is aborted, as
    /// where a `Vec` has none; [`try_transpose`](Self::try_transpose) says so instead.
    #[must_use]
    pub fn transpose(&self) -> Self {
        self.view().transpose()
    }

    /// The transpose, as [`transpose`](Self::transpose).
    ///
    /// # Errors
    /// Where there is no memory for it.
    pub fn try_transpose(&self) -> Result<Self, MatrixError> {
        self.view().try_transpose()
    }

    /// The same entries in the same order, with the row of each.
    pub fn to_coo(&self) -> Coo<V> {
        self.view().to_coo()
    }

    /// All `rows * cols` values, row by row; entries that are stored more than once are summed.
    ///
    /// # Errors
    /// Where so many values do not fit in memory.
    pub fn to_dense(&self) -> Result<Vec<V>, MatrixError> {
        self.view().to_dense()
    }
}

impl<V: Storage, O: Offset> PartialEq for Csr<V, O> {
    /// Equal shapes and equal arrays; the same matrix with its nonzeros in another order is not equal.
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}

impl<V: Storage, O: Offset> fmt::Debug for Csr<V, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, nnz) = (self.rows, self.cols, self.nnz());
        write!(f, "Csr<{}, {}> {rows} x {cols}, {nnz} nonzeros", V::NAME, O::NAME)
    }
}
