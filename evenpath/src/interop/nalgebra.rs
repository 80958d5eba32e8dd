use nalgebra_sparse::pattern::SparsityPattern;
use nalgebra_sparse::{CooMatrix, CsrMatrix};

use super::indices::{canonical, from_usize, to_usize};
use crate::{Coo, Csr, MatrixError, Offset, Value};

/// From nalgebra-sparse. The values are moved; the indices, `usize` there, are copied.
///
/// ```
/// use evenpath::Csr;
/// use nalgebra_sparse::CsrMatrix;
///
/// let theirs: CsrMatrix<f64> = CsrMatrix::identity(3);
/// let ours: Csr<f64> = theirs.clone().try_into()?;
/// assert_eq!(ours.get(2, 2), Some(1.0));
/// assert_eq!(CsrMatrix::from(ours), theirs);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
///
/// # Errors
///
/// If a dimension exceeds [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION), or `O` cannot count the nonzeros.
impl<V: Value, O: Offset> TryFrom<CsrMatrix<V>> for Csr<V, O> {
    type Error = MatrixError;

    fn try_from(matrix: CsrMatrix<V>) -> Result<Self, MatrixError> {
        let shape = (matrix.nrows(), matrix.ncols());
        let (pattern, values) = matrix.into_pattern_and_values();
        let (offsets, columns) = (pattern.major_offsets(), pattern.minor_indices());
        from_usize(shape, offsets.iter().copied(), columns.iter().copied(), values)
    }
}

/// To nalgebra-sparse. The values are moved, the indices copied. nalgebra-sparse requires canonical rows: others are
/// sorted, and duplicates summed.
impl<V: Value, O: Offset> From<Csr<V, O>> for CsrMatrix<V> {
    fn from(matrix: Csr<V, O>) -> Self {
        let matrix = canonical(matrix);
        let (rows, cols) = (matrix.nrows(), matrix.ncols());
        let (row_offsets, columns) = (to_usize(matrix.row_offsets()), to_usize(matrix.column_indices()));
        let (_, _, values) = matrix.into_parts();
        // SAFETY: there is one offset more than rows; offsets run from 0 to the number of nonzeros without decreasing;
        // columns are in range and increase in every row.
        let pattern =
            unsafe { SparsityPattern::from_offset_and_indices_unchecked(rows, cols, row_offsets, columns) };
        let Ok(matrix) = Self::try_from_pattern_and_values(pattern, values) else {
            unreachable!("there is one value per column")
        };
        matrix
    }
}

/// From triplets of nalgebra-sparse, which are copied in order.
///
/// # Errors
///
/// If a dimension exceeds [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION).
impl<V: Value> TryFrom<&CooMatrix<V>> for Coo<V> {
    type Error = MatrixError;

    fn try_from(matrix: &CooMatrix<V>) -> Result<Self, MatrixError> {
        let triplets = matrix.triplet_iter().map(|(row, col, &value)| (row, col, value));
        Self::from_triplets(matrix.nrows(), matrix.ncols(), triplets)
    }
}

/// To triplets of nalgebra-sparse, which are copied in order.
impl<V: Value> From<&Coo<V>> for CooMatrix<V> {
    fn from(matrix: &Coo<V>) -> Self {
        let (rows, cols) = (to_usize(matrix.row_indices()), to_usize(matrix.column_indices()));
        let values = matrix.values().to_vec();
        let Ok(matrix) = Self::try_from_triplets(matrix.nrows(), matrix.ncols(), rows, cols, values) else {
            unreachable!("every entry is inside the matrix")
        };
        matrix
    }
}
