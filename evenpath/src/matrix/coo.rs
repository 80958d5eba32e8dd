//! Coordinates: a row, a column and a value for every entry.

use std::fmt;

use rayon::prelude::*;

use super::compress::{self, Entries};
use super::{Csr, Duplicates, InvalidCoo, MatrixError, validate};
use crate::{Offset, Value};

/// A sparse matrix as a list of entries, in any order.
///
/// An entry may be stored more than once; it then stands for the sum.
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

impl<V: Value> Coo<V> {
    /// Makes a `rows` x `cols` matrix of its arrays, which count from 0.
    ///
    /// # Errors
    /// Unless the arrays have equal lengths and all rows and columns are inside the matrix. The error
    /// holds the buffers.
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

    /// The matrix of arrays that [`try_new`](Self::try_new) would accept.
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

    /// Makes a matrix of (row, column, value) triplets, which stay as they are.
    ///
    /// # Errors
    /// Where a row or column is outside the matrix.
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
            row_indices.push(row as u32);
            column_indices.push(column as u32);
            values.push(value);
        }
        Ok(Self::from_valid(rows, cols, row_indices, column_indices, values))
    }

    /// The arrays: row indices, column indices, values.
    pub fn into_parts(self) -> (Vec<u32>, Vec<u32>, Vec<V>) {
        (self.row_indices, self.column_indices, self.values)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.values.len()
    }

    /// Row of every entry.
    pub fn row_indices(&self) -> &[u32] {
        &self.row_indices
    }

    /// Column of every entry.
    pub fn column_indices(&self) -> &[u32] {
        &self.column_indices
    }

    /// Value of every entry.
    pub fn values(&self) -> &[V] {
        &self.values
    }

    /// Value of every entry, to be changed; the pattern stays.
    pub fn values_mut(&mut self) -> &mut [V] {
        &mut self.values
    }

    /// Whether every entry is in the row of the one before it, or in a later one.
    pub fn is_sorted_by_row(&self) -> bool {
        self.row_indices.is_sorted()
    }

    /// Sorts the entries by row; those of a row stay in their order.
    pub fn sort_by_row(&mut self) {
        if self.rows <= self.nnz()
            && let Ok(csr) = self.to_csr::<u64>(Duplicates::Keep)
        {
            *self = csr.to_coo();
            return;
        }
        // Row offsets would take more memory than the entries.
        let indices = self.row_indices.par_iter().zip(&self.column_indices);
        let mut entries: Vec<_> =
            indices.zip(&self.values).map(|((&row, &column), &value)| (row, column, value)).collect();
        entries.par_sort_by_key(|&(row, _, _)| row);
        let entries = entries.into_par_iter().map(|(row, column, value)| (row, (column, value)));
        let (rows, (columns, values)) = entries.unzip();
        *self = Self::from_valid(self.rows, self.cols, rows, columns, values);
    }

    /// The matrix in CSR form: canonical, unless duplicates are kept; then the entries of a row stay in
    /// the order they have here.
    ///
    /// # Errors
    /// Where `O` cannot count the entries, duplicates are refused and there is one, or there is no memory.
    pub fn to_csr<O: Offset>(&self, duplicates: Duplicates) -> Result<Csr<V, O>, MatrixError> {
        let nnz = self.nnz();
        if O::try_from_usize(nnz).is_none() {
            return Err(MatrixError::offset_overflow::<O>(nnz));
        }
        let entries =
            Entries { rows: &self.row_indices, columns: &self.column_indices, values: &self.values };
        let mut csr = compress::compress(self.rows, self.cols, entries)?;
        csr.apply(duplicates)?;
        Ok(csr)
    }
}

impl<V: Value> fmt::Debug for Coo<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, cols, nnz) = (self.rows, self.cols, self.nnz());
        write!(f, "Coo<{}> {rows} x {cols}, {nnz} entries", V::NAME)
    }
}
