//! Coordinate format: a row, a column and a value for every entry.

use std::fmt;

use rayon::slice::ParallelSliceMut;

use super::compress::{self, TripletSlices};
use super::{Csr, Duplicates, InvalidCoo, MatrixError, validate};
use crate::memory::try_extend;
use crate::{Offset, Scalar, parallel};

/// A sparse matrix as a list of entries, in any order.
///
/// Entries with the same row and column represent their sum.
///
/// ```
/// use evenpath::coo::Duplicates;
/// use evenpath::{Coo, Csr};
///
/// let entries = Coo::try_new(2, 2, vec![1, 0, 1], vec![0, 1, 0], vec![1.0, 2.0, 3.0])?;
/// let a: Csr<f64> = entries.to_csr(Duplicates::Sum)?;
/// assert_eq!(a.get(1, 0), Some(4.0));
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Coo<V> {
    rows: usize,
    cols: usize,
    row_indices: Vec<u32>,
    column_indices: Vec<u32>,
    values: Vec<V>,
}

impl<V: Scalar> Coo<V> {
    /// Builds a matrix of `rows` rows and `cols` columns from the row, column and value of each entry, in
    /// three arrays of the same length. Indices count from 0.
    ///
    /// ```
    /// use evenpath::Coo;
    /// use evenpath::coo::Duplicates;
    ///
    /// let a = Coo::try_new(2, 2, vec![1, 0], vec![0, 1], vec![5.0, 7.0])?;
    /// assert_eq!(a.to_csr(Duplicates::Sum)?.to_dense()?, [0.0, 7.0, 5.0, 0.0]);
    ///
    /// let refused = Coo::try_new(2, 2, vec![2], vec![0], vec![1.0]).unwrap_err();
    /// assert_eq!(refused.into_parts(), (vec![2], vec![0], vec![1.0])); // there is no row 2
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the arrays differ in length, or a row or column is outside the matrix. The error returns the
    /// buffers.
    pub fn try_new(
        rows: usize,
        cols: usize,
        row_indices: Vec<u32>,
        column_indices: Vec<u32>,
        values: Vec<V>,
    ) -> Result<Self, InvalidCoo<V>> {
        match validate::coo(rows, cols, &row_indices, &column_indices, values.len()) {
            Ok(()) => Ok(Self { rows, cols, row_indices, column_indices, values }),
            Err(error) => Err(InvalidCoo { error, row_indices, column_indices, values }),
        }
    }

    /// Builds a matrix from arrays that [`try_new`](Self::try_new) would accept, unchecked.
    pub(crate) fn from_valid(
        rows: usize,
        cols: usize,
        row_indices: Vec<u32>,
        column_indices: Vec<u32>,
        values: Vec<V>,
    ) -> Self {
        debug_assert_eq!(validate::coo(rows, cols, &row_indices, &column_indices, values.len()), Ok(()));
        Self { rows, cols, row_indices, column_indices, values }
    }

    /// Builds a matrix of `rows` rows and `cols` columns from (row, column, value) triplets, in their order,
    /// duplicates included.
    ///
    /// ```
    /// use evenpath::Coo;
    ///
    /// let mut a = Coo::from_triplets(2, 2, [(1, 0, 1.0), (0, 1, 2.0), (1, 0, 3.0)])?;
    /// a.sort_by_row(); // entries of a row keep their order
    /// assert_eq!(a.row_indices(), [0, 1, 1]);
    /// assert_eq!(a.values(), [2.0, 1.0, 3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a row or column is outside the matrix, or there is not enough memory.
    pub fn from_triplets(
        rows: usize,
        cols: usize,
        triplets: impl IntoIterator<Item = (usize, usize, V)>,
    ) -> Result<Self, MatrixError> {
        validate::dimensions(rows, cols)?;
        let (mut row_indices, mut column_indices, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (position, (row, column, value)) in triplets.into_iter().enumerate() {
            if row >= rows {
                return Err(MatrixError::RowOutOfRange { position, row, rows });
            }
            if column >= cols {
                return Err(MatrixError::ColumnOutOfRange { row, position, column, cols });
            }
            let out_of_memory = |_| MatrixError::OutOfMemory { rows, nnz: position + 1 };
            try_extend(&mut row_indices, &[row as u32]).map_err(out_of_memory)?;
            try_extend(&mut column_indices, &[column as u32]).map_err(out_of_memory)?;
            try_extend(&mut values, &[value]).map_err(out_of_memory)?;
        }
        Ok(Self::from_valid(rows, cols, row_indices, column_indices, values))
    }

    /// Returns the arrays: row indices, column indices, values.
    pub fn into_parts(self) -> (Vec<u32>, Vec<u32>, Vec<V>) {
        (self.row_indices, self.column_indices, self.values)
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

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// The row of each entry.
    pub fn row_indices(&self) -> &[u32] {
        &self.row_indices
    }

    /// The column of each entry.
    pub fn column_indices(&self) -> &[u32] {
        &self.column_indices
    }

    /// The value of each entry.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// The value of each entry, mutable. The pattern cannot be changed.
    pub fn values_mut(&mut self) -> &mut [V] {
        &mut self.values
    }

    /// Returns whether the row indices never decrease.
    pub fn is_sorted_by_row(&self) -> bool {
        self.row_indices.is_sorted()
    }

    /// Sorts the entries by row, stably.
    pub fn sort_by_row(&mut self) {
        if self.rows <= self.nnz()
            && let Ok(csr) = self.to_csr_with_offsets::<u64>(Duplicates::Keep)
            && let Ok(sorted) = csr.to_coo()
        {
            *self = sorted;
            return;
        }
        // A counting sort would need more memory for row offsets than the entries take.
        let entry = |at: usize| (self.row_indices[at], self.column_indices[at], self.values[at]);
        let mut entries = parallel::map(self.nnz(), 1, entry);
        entries.par_sort_by_key(|&(row, _, _)| row);
        let rows = parallel::map(entries.len(), 1, |at| entries[at].0);
        let columns = parallel::map(entries.len(), 1, |at| entries[at].1);
        let values = parallel::map(entries.len(), 1, |at| entries[at].2);
        *self = Self::from_valid(self.rows, self.cols, rows, columns, values);
    }

    /// Converts to CSR, in the same shape. The result is canonical unless duplicates are kept; then the
    /// entries of each row keep their order.
    ///
    /// ```
    /// use evenpath::Coo;
    /// use evenpath::coo::Duplicates;
    ///
    /// let a = Coo::from_triplets(2, 2, [(1, 1, 1.0), (1, 0, 2.0), (1, 1, 3.0)])?;
    /// let summed = a.to_csr(Duplicates::Sum)?;
    /// assert_eq!((summed.column_indices(), summed.values()), (&[0, 1][..], &[2.0, 4.0][..]));
    /// let kept = a.to_csr(Duplicates::Keep)?;
    /// assert_eq!((kept.column_indices(), kept.values()), (&[1, 0, 1][..], &[1.0, 2.0, 3.0][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `O` cannot count the entries, if `duplicates` is `Refuse` and there is one, or if there is
    /// not enough memory.
    pub fn to_csr(&self, duplicates: Duplicates) -> Result<Csr<V>, MatrixError> {
        self.to_csr_with_offsets(duplicates)
    }

    /// [`to_csr`](Self::to_csr) with row offsets of type `O`: `u64` counts more entries than `u32`.
    ///
    /// # Errors
    ///
    /// The same as for [`to_csr`](Self::to_csr).
    pub fn to_csr_with_offsets<O: Offset>(&self, duplicates: Duplicates) -> Result<Csr<V, O>, MatrixError> {
        let nnz = self.nnz();
        if O::try_from_usize(nnz).is_none() {
            return Err(MatrixError::offset_overflow::<O>(nnz));
        }
        let entries =
            TripletSlices { rows: &self.row_indices, columns: &self.column_indices, values: &self.values };
        let mut csr = compress::compress(self.rows, self.cols, entries)?;
        csr.apply(duplicates)?;
        Ok(csr)
    }
}

impl<V: Scalar> fmt::Debug for Coo<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, nnz) = (self.rows, self.cols, self.nnz());
        write!(f, "Coo<{}> {rows} x {cols}, {nnz} entries", V::NAME)
    }
}
