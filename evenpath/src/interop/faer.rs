use faer::sparse::{SparseRowMat, SymbolicSparseRowMat};

use super::indices::{canonical, from_usize, to_usize};
use crate::matrix::InvalidCsr;
use crate::{Csr, MatrixError, Value};

/// From faer, with `u32` indices. The arrays are moved; gaps between rows are closed.
///
/// ```
/// use evenpath::Csr;
/// use faer::sparse::{SparseRowMat, Triplet};
///
/// let theirs = SparseRowMat::<u32, f64>::try_new_from_triplets(2, 3, &[Triplet::new(0, 2, 5.0)]).unwrap();
/// let ours: Csr<f64> = theirs.try_into()?;
/// assert_eq!(ours.get(0, 2), Some(5.0));
/// let theirs: SparseRowMat<u32, f64> = ours.try_into()?;
/// assert_eq!(theirs.get(0, 2), Some(&5.0));
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
///
/// # Errors
///
/// If a dimension exceeds [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION).
impl<V: Value> TryFrom<SparseRowMat<u32, V>> for Csr<V, u32> {
    type Error = MatrixError;

    fn try_from(matrix: SparseRowMat<u32, V>) -> Result<Self, MatrixError> {
        let (symbolic, values) = matrix.into_parts();
        let (rows, cols, row_offsets, lengths, columns) = symbolic.into_parts();
        let Some(lengths) = lengths else {
            return Ok(Self::try_new(rows, cols, row_offsets, columns, values)?);
        };
        let begins = row_offsets.iter().map(|&begin| begin as usize);
        let ranges = begins.zip(&lengths).map(|(begin, &len)| begin..begin + len as usize);
        let kept: Vec<usize> = ranges.flatten().collect();
        let mut end = 0;
        let ends = lengths.iter().map(|len| {
            end += len;
            end
        });
        let row_offsets = std::iter::once(0).chain(ends).collect();
        let columns = kept.iter().map(|&at| columns[at]).collect();
        let values = kept.iter().map(|&at| values[at]).collect();
        Ok(Self::try_new(rows, cols, row_offsets, columns, values)?)
    }
}

/// From faer, with `usize` indices, which are copied.
///
/// # Errors
///
/// If a dimension exceeds [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION), or `u32` cannot count the nonzeros.
impl<V: Value> TryFrom<&SparseRowMat<usize, V>> for Csr<V, u32> {
    type Error = MatrixError;

    fn try_from(matrix: &SparseRowMat<usize, V>) -> Result<Self, MatrixError> {
        let symbolic = matrix.symbolic();
        let (rows, cols) = (symbolic.nrows(), symbolic.ncols());
        let mut row_offsets = Vec::with_capacity(rows + 1);
        row_offsets.push(0);
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for row in 0..rows {
            columns.extend(symbolic.col_idx_of_row(row));
            values.extend_from_slice(matrix.val_of_row(row));
            row_offsets.push(values.len());
        }
        from_usize((rows, cols), row_offsets.into_iter(), columns.into_iter(), values)
    }
}

/// To faer. The arrays are moved. faer requires canonical rows: others are sorted, and duplicates summed.
///
/// # Errors
///
/// If there are 2³¹ or more rows or columns, which faer does not support with these indices. The error returns the
/// buffers.
impl<V: Value> TryFrom<Csr<V, u32>> for SparseRowMat<u32, V> {
    type Error = InvalidCsr<V, u32>;

    fn try_from(matrix: Csr<V, u32>) -> Result<Self, Self::Error> {
        const LIMIT: usize = i32::MAX as usize;
        let (rows, cols) = (matrix.nrows(), matrix.ncols());
        if rows.max(cols) > LIMIT {
            let error = MatrixError::TooLargeElsewhere { rows, cols, library: "faer", limit: LIMIT };
            return Err(InvalidCsr::new(matrix.into_parts(), error));
        }
        let matrix = canonical(matrix);
        let (row_offsets, columns, values) = matrix.into_parts();
        // SAFETY: there is one offset more than rows; offsets run from 0 to the number of nonzeros without decreasing;
        // columns are in range and increase in every row.
        let symbolic = unsafe { SymbolicSparseRowMat::new_unchecked(rows, cols, row_offsets, None, columns) };
        Ok(Self::new(symbolic, values))
    }
}

/// To faer, with `usize` indices. Everything is copied. Rows become canonical as in the other conversion.
impl<V: Value> From<&Csr<V, u32>> for SparseRowMat<usize, V> {
    fn from(matrix: &Csr<V, u32>) -> Self {
        let matrix = canonical(matrix.clone());
        let (row_offsets, columns) = (to_usize(matrix.row_offsets()), to_usize(matrix.column_indices()));
        // SAFETY: the same as for the other conversion.
        let symbolic = unsafe {
            SymbolicSparseRowMat::new_unchecked(matrix.nrows(), matrix.ncols(), row_offsets, None, columns)
        };
        Self::new(symbolic, matrix.into_parts().2)
    }
}
