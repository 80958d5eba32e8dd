//! Matrices of some rows of a matrix.

use super::blocks::{local_ranges, row_blocks, split_both};
use super::{Csr, CsrView, MatrixError, validate};
use crate::memory::{try_collect, try_zeroed};
use crate::{Offset, Storage, parallel};

impl<V: Storage, O: Offset> Csr<V, O> {
    /// Returns the matrix whose row i is row `rows[i]` of this one. Rows may be repeated, and in any order; the entries of a row
    /// keep theirs. For A of m rows and n columns and a list of k rows, the result has k rows and n columns.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(3, 2, [(0, 0, 1.0), (1, 1, 2.0), (2, 0, 3.0)])?;
    /// let selected = a.select_rows(&[2, 0, 2, 1])?;
    /// assert_eq!(selected.to_dense()?, [3.0, 0.0, 1.0, 0.0, 3.0, 0.0, 0.0, 2.0]);
    /// assert_eq!(
    ///     a.select_rows(&[0, 3]).unwrap_err().to_string(),
    ///     "row 3 at position 1 is out of range: the matrix has 3 rows"
    /// );
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a row does not exist; the error names the first. If there are more than
    /// [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION) rows in the list, or more nonzeros in the result than `O` counts. If there is
    /// not enough memory.
    pub fn select_rows(&self, rows: &[u32]) -> Result<Self, MatrixError> {
        self.view().select_rows(rows)
    }
}

impl<V: Storage, O: Offset> CsrView<'_, V, O> {
    /// Returns the matrix whose row i is row `rows[i]` of this one: see [`Csr::select_rows`].
    ///
    /// # Errors
    ///
    /// The same as for [`Csr::select_rows`].
    pub fn select_rows(&self, rows: &[u32]) -> Result<Csr<V, O>, MatrixError> {
        validate::dimensions(rows.len(), self.ncols())?;
        if let Some(position) = rows.iter().position(|&row| row as usize >= self.nrows()) {
            return Err(MatrixError::RowOutOfRange {
                position,
                row: rows[position] as usize,
                rows: self.nrows(),
            });
        }
        let lengths = || rows.iter().map(|&row| self.range(row as usize).len());
        let nnz = lengths().fold(0, usize::saturating_add);
        if O::try_from_usize(nnz).is_none() {
            return Err(MatrixError::offset_overflow::<O>(nnz));
        }
        let out_of_memory = MatrixError::OutOfMemory { rows: rows.len(), nnz };
        let ends = lengths().scan(0, |end, length| {
            *end += length;
            Some(O::from_bits(*end as u64))
        });
        let Ok(row_offsets) = try_collect(std::iter::once(O::ZERO).chain(ends)) else {
            return Err(out_of_memory);
        };
        let arrays = (try_zeroed(nnz), try_zeroed(nnz));
        let (Ok(mut columns), Ok(mut values)) = arrays else { return Err(out_of_memory) };
        let blocks = row_blocks(&row_offsets);
        let parts = split_both(&blocks, &row_offsets, &mut columns, &mut values);
        parallel::for_each(parts, |(block, columns, values)| {
            for (position, place) in local_ranges(&row_offsets, block) {
                let source = self.range(rows[position] as usize);
                columns[place.clone()].copy_from_slice(&self.column_indices()[source.clone()]);
                values[place].copy_from_slice(&self.values()[source]);
            }
        });
        Ok(Csr::from_valid(rows.len(), self.ncols(), row_offsets, columns, values))
    }
}
