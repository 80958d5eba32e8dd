//! The diagonal of a matrix, and reductions of its rows and columns.

use super::{Csr, CsrView, MatrixError, Row, check_dimensions, row_blocks};
use crate::operation::Reduction;
use crate::{Offset, Scalar, Value, parallel};

impl<V: Scalar> Csr<V> {
    /// Creates the identity matrix of n rows and columns.
    ///
    /// # Errors
    ///
    /// If `n` exceeds [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION).
    pub fn identity(n: usize) -> Result<Self, MatrixError> {
        check_dimensions(n, n)?;
        Self::from_diagonal(&vec![V::ONE; n])
    }

    /// Creates a matrix of n rows and columns with the n elements of `diagonal` on the diagonal, zeros among them, and
    /// no other entries.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_diagonal(&[2.0, 3.0])?;
    /// assert_eq!(a.to_dense()?, [2.0, 0.0, 0.0, 3.0]);
    /// assert_eq!((&a + &Csr::identity(2)?)?.diagonal(), [3.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are more elements than [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION).
    pub fn from_diagonal(diagonal: &[V]) -> Result<Self, MatrixError> {
        let n = diagonal.len();
        check_dimensions(n, n)?;
        let row_offsets = parallel::map(n + 1, 1 << 14, |row| row as u32);
        let columns = parallel::map(n, 1 << 14, |row| row as u32);
        Ok(Self::from_valid(n, n, row_offsets, columns, diagonal.to_vec()))
    }
}

impl<V: Scalar, O: Offset> Csr<V, O> {
    /// Returns the diagonal: min(m, n) elements for a matrix of m rows and n columns, zero where no entry is stored, and
    /// the sum of duplicates.
    pub fn diagonal(&self) -> Vec<V> {
        let mut diagonal = vec![V::ZERO; self.nrows()];
        self.view().write_diagonal(&mut diagonal);
        diagonal.truncate(self.ncols());
        diagonal
    }
}

impl<V: Value, O: Offset> Csr<V, O> {
    /// Reduces the stored values of each row: one element per row. Entries that are not stored do not count as zeros.
    ///
    /// ```
    /// use evenpath::Csr;
    /// use evenpath::csr::Reduction;
    ///
    /// let a = Csr::from_triplets(2, 2, [(0, 0, -4.0), (0, 1, 3.0)])?;
    /// assert_eq!(a.reduce_rows(Reduction::AbsSum), [7.0, 0.0]);
    /// assert_eq!(a.reduce_columns(Reduction::Count)?, [1.0, 1.0]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    pub fn reduce_rows(&self, reduction: Reduction) -> Vec<V> {
        self.view().reduce_rows(reduction)
    }

    /// Reduces the stored values of each column: one element per column, combined in the order of the rows. Entries
    /// that are not stored do not count as zeros.
    ///
    /// # Errors
    ///
    /// If there is not enough memory for the transpose.
    pub fn reduce_columns(&self, reduction: Reduction) -> Result<Vec<V>, MatrixError> {
        Ok(self.transpose()?.reduce_rows(reduction))
    }
}

impl<'a, V: Scalar, O: Offset> CsrView<'a, V, O> {
    /// Writes the diagonal, with an element per row.
    pub(crate) fn write_diagonal(self, diagonal: &mut [V]) {
        let elements = self.map_rows(|index, row| {
            let own = row.iter().filter(|&(column, _)| column as usize == index);
            own.fold(V::ZERO, |sum, (_, value)| sum + value)
        });
        diagonal.copy_from_slice(&elements);
    }

    /// Returns the element for each row, in blocks of about equal numbers of entries.
    fn map_rows(self, element: impl Fn(usize, Row<'a, V>) -> V + Sync) -> Vec<V> {
        let parts = parallel::map_each(row_blocks(self.row_offsets()), |rows| -> Vec<V> {
            let of = |row: usize| {
                let range = self.range(row);
                element(row, Row::new(&self.column_indices()[range.clone()], &self.values()[range]))
            };
            rows.map(of).collect()
        });
        parts.concat()
    }
}

impl<V: Value, O: Offset> CsrView<'_, V, O> {
    /// Reduces the values of each row.
    pub(crate) fn reduce_rows(self, reduction: Reduction) -> Vec<V> {
        self.map_rows(|_, row| reduce(reduction, row.values()))
    }
}

/// Reduces the values of a row.
fn reduce<V: Value>(reduction: Reduction, values: &[V]) -> V {
    let sum = |term: fn(V) -> V| values.iter().fold(V::ZERO, |sum, &value| sum + term(value));
    // Comparisons with NaN are false.
    let least = |start, value: fn(V) -> V| {
        values.iter().map(|&one| value(one)).fold(start, |least, one| if one < least { one } else { least })
    };
    let greatest = |start, value: fn(V) -> V| {
        values.iter().map(|&one| value(one)).fold(start, |most, one| if one > most { one } else { most })
    };
    match reduction {
        Reduction::Sum => sum(|value| value),
        Reduction::AbsSum => sum(V::abs),
        Reduction::Min => least(V::INFINITE, |value| value),
        Reduction::Max => greatest(-V::INFINITE, |value| value),
        Reduction::AbsMax => greatest(V::ZERO, V::abs),
        Reduction::Count => V::from_u64(values.len() as u64),
        Reduction::Norm2 => {
            let (low, high) = V::NORMAL;
            let largest = greatest(low, V::abs);
            let largest = if largest > high { high } else { largest };
            let square = |value: V| (value / largest) * (value / largest);
            values.iter().fold(V::ZERO, |sum, &value| sum + square(value)).sqrt() * largest
        }
    }
}
