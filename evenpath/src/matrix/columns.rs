//! Matrices of some columns of a matrix.

use std::ops::Range;

use super::blocks::{local_ranges, row_blocks, split_both};
use super::{Csr, CsrView, MatrixError, validate};
use crate::memory::{try_collect, try_copy, try_zeroed};
use crate::{Offset, Storage, parallel};

impl<V: Storage, O: Offset> Csr<V, O> {
    /// Returns the block of these rows and columns, for p rows and q columns a p × q matrix. The entries of a row keep their order.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(3, 4, [(0, 0, 1.0), (1, 1, 2.0), (1, 3, 3.0), (2, 2, 4.0)])?;
    /// assert_eq!(a.submatrix(1..3, 1..3)?.to_dense()?, [2.0, 0.0, 0.0, 4.0]);
    /// assert_eq!(a.submatrix(0..1, 4..4)?.shape(), (1, 0));
    /// let error = a.submatrix(1..4, 0..1).unwrap_err();
    /// assert_eq!(error.to_string(), "rows 1..4 are out of range: the matrix has 3");
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a range exceeds the matrix or its start exceeds its end, or there is not enough memory.
    pub fn submatrix(&self, rows: Range<usize>, columns: Range<usize>) -> Result<Self, MatrixError> {
        self.view().submatrix(rows, columns)
    }

    /// Returns the matrix whose column j is column `columns[j]` of this one. Columns may be repeated, and in any order. For A of m
    /// rows and n columns and a list of k columns, the result has m rows and k columns.
    ///
    /// If no column in the list is less than the one before, the entries of a row keep their order; otherwise the rows of the result are
    /// sorted by column. Either way the result is canonical if A is.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// assert_eq!(a.select_columns(&[2, 0, 2])?.to_dense()?, [2.0, 1.0, 2.0, 0.0, 0.0, 0.0]);
    /// let error = a.select_columns(&[0, 3]).unwrap_err().to_string();
    /// assert_eq!(error, "column 3 at position 1 of the list is out of range: the matrix has 3 columns");
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a column does not exist; the error names the first. If there are more than
    /// [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION) columns in the list, or more nonzeros in the result than `O` counts. If there
    /// is not enough memory.
    pub fn select_columns(&self, columns: &[u32]) -> Result<Self, MatrixError> {
        self.view().select_columns(columns)
    }
}

impl<V: Storage, O: Offset> CsrView<'_, V, O> {
    /// Returns the block of these rows and columns: see [`Csr::submatrix`].
    ///
    /// # Errors
    ///
    /// The same as for [`Csr::submatrix`].
    pub fn submatrix(&self, rows: Range<usize>, columns: Range<usize>) -> Result<Csr<V, O>, MatrixError> {
        validate::threads()?;
        validate::block_range("rows", &rows, self.nrows())?;
        validate::block_range("columns", &columns, self.ncols())?;
        if columns.len() == self.ncols() {
            return self.consecutive_rows(rows);
        }
        let (first, count) = (columns.start as u32, columns.len() as u32);
        let places = |column: u32| {
            let place = column.wrapping_sub(first);
            if place < count { place..place + 1 } else { 0..0 }
        };
        self.chosen(rows, columns.len(), places, |place| place)
    }

    /// Returns the matrix whose column j is column `columns[j]` of this one: see [`Csr::select_columns`].
    ///
    /// # Errors
    ///
    /// The same as for [`Csr::select_columns`].
    pub fn select_columns(&self, columns: &[u32]) -> Result<Csr<V, O>, MatrixError> {
        validate::dimensions(self.nrows(), columns.len())?;
        validate::listed_columns(columns, self.ncols())?;
        let out_of_memory = |()| MatrixError::OutOfMemory { rows: self.nrows(), nnz: self.nnz() };
        let (starts, positions) = by_column(columns, self.ncols()).map_err(out_of_memory)?;
        let places = |column: u32| starts[column as usize]..starts[column as usize + 1];
        let mut chosen =
            self.chosen(0..self.nrows(), columns.len(), places, |place| positions[place as usize])?;
        if !columns.is_sorted() {
            chosen.sort_rows();
        }
        Ok(chosen)
    }

    /// Copies rows with all columns.
    fn consecutive_rows(&self, rows: Range<usize>) -> Result<Csr<V, O>, MatrixError> {
        let (begin, entries) = (self.row_offsets()[rows.start].to_u64(), self.nonzeros(&rows));
        let out_of_memory = |_| MatrixError::OutOfMemory { rows: rows.len(), nnz: entries.len() };
        let offsets = self.row_offsets()[rows.start..=rows.end].iter();
        let row_offsets = try_collect(offsets.map(|&offset| O::from_bits(offset.to_u64() - begin)))
            .map_err(out_of_memory)?;
        let columns = try_copy(&self.column_indices()[entries.clone()]).map_err(out_of_memory)?;
        let values = try_copy(&self.values()[entries.clone()]).map_err(out_of_memory)?;
        Ok(Csr::from_valid(rows.len(), self.ncols(), row_offsets, columns, values))
    }

    /// Copies each entry of some rows to all its places: `places` are those of a column, and `column` gives the column of one in the
    /// result, which has `cols`.
    fn chosen(
        &self,
        rows: Range<usize>,
        cols: usize,
        places: impl Fn(u32) -> Range<u32> + Sync,
        column: impl Fn(u32) -> u32 + Sync,
    ) -> Result<Csr<V, O>, MatrixError> {
        let lengths = parallel::map(rows.len(), 1, |row| {
            let columns = &self.column_indices()[self.range(rows.start + row)];
            columns.iter().map(|&column| places(column).len()).sum::<usize>()
        });
        let nnz = lengths.iter().copied().fold(0, usize::saturating_add);
        if O::try_from_usize(nnz).is_none() {
            return Err(MatrixError::offset_overflow::<O>(nnz));
        }
        let out_of_memory = MatrixError::OutOfMemory { rows: rows.len(), nnz };
        let ends = lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(O::from_bits(*end as u64))
        });
        let Ok(row_offsets) = try_collect(std::iter::once(O::ZERO).chain(ends)) else {
            return Err(out_of_memory);
        };
        let arrays = (try_zeroed(nnz), try_zeroed(nnz));
        let (Ok(mut chosen_columns), Ok(mut values)) = arrays else { return Err(out_of_memory) };
        let blocks = row_blocks(&self.row_offsets()[rows.start..=rows.end]);
        let parts = split_both(&blocks, &row_offsets, &mut chosen_columns, &mut values);
        parallel::for_each(parts, |(block, columns, values)| {
            for (row, target) in local_ranges(&row_offsets, block) {
                let mut slots = columns[target.clone()].iter_mut().zip(&mut values[target]);
                for at in self.range(rows.start + row) {
                    // The places come first, so that no slot is taken for one that is not there.
                    for (place, slot) in places(self.column_indices()[at]).zip(&mut slots) {
                        (*slot.0, *slot.1) = (column(place), self.values()[at]);
                    }
                }
            }
        });
        Ok(Csr::from_valid(rows.len(), cols, row_offsets, chosen_columns, values))
    }
}

/// Sorts the positions of a list by its columns, all below `cols`. Returns the start of each column, and the positions.
fn by_column(list: &[u32], cols: usize) -> Result<(Vec<u32>, Vec<u32>), ()> {
    let mut starts: Vec<u32> = try_zeroed(cols + 1).map_err(drop)?;
    let mut positions: Vec<u32> = try_zeroed(list.len()).map_err(drop)?;
    for &column in list {
        starts[column as usize] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += std::mem::replace(start, sum);
    }
    // The starts become ends, which are the starts of the next columns.
    for (position, &column) in list.iter().enumerate() {
        let start = &mut starts[column as usize];
        positions[*start as usize] = position as u32;
        *start += 1;
    }
    starts.pop();
    starts.insert(0, 0);
    Ok((starts, positions))
}
