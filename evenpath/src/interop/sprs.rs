use sprs::{CompressedStorage, CsMatI, SpIndex};

use super::indices::{canonical, from_usize, to_usize};
use crate::{Csr, MatrixError, Offset, Value};

/// From sprs, with `u32` column indices. The arrays are moved. CSC matrices are converted to CSR first.
///
/// ```
/// use evenpath::Csr;
/// use sprs::{CsMatI, TriMatI};
///
/// let mut triplets: TriMatI<f64, u32> = TriMatI::new((2, 3));
/// triplets.add_triplet(0, 2, 5.0);
/// let theirs: CsMatI<f64, u32, u32> = triplets.to_csr();
/// let ours: Csr<f64> = theirs.try_into()?;
/// assert_eq!(ours.get(0, 2), Some(5.0));
/// let theirs: CsMatI<f64, u32, u32> = ours.into();
/// assert_eq!(theirs.get(0, 2), Some(&5.0));
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
///
/// # Errors
///
/// If a dimension exceeds [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION).
impl<V: Value, O: Offset + SpIndex> TryFrom<CsMatI<V, u32, O>> for Csr<V, O> {
    type Error = MatrixError;

    fn try_from(matrix: CsMatI<V, u32, O>) -> Result<Self, MatrixError> {
        let matrix = if matrix.is_csr() { matrix } else { matrix.to_csr() };
        let (rows, cols) = matrix.shape();
        let counted_from_zero =
            if matrix.indptr().is_proper() { None } else { Some(matrix.proper_indptr().into_owned()) };
        let (row_offsets, column_indices, values) = matrix.into_raw_storage();
        let row_offsets = counted_from_zero.unwrap_or(row_offsets);
        Ok(Self::try_new(rows, cols, row_offsets, column_indices, values)?)
    }
}

/// From sprs with its default types. The indices are copied. CSC matrices are converted to CSR first.
///
/// ```
/// let theirs: sprs::CsMat<f64> = sprs::CsMat::eye(3);
/// let ours: evenpath::Csr<f64> = (&theirs).try_into()?;
/// assert_eq!(ours.get(2, 2), Some(1.0));
/// assert_eq!(sprs::CsMat::<f64>::from(&ours), theirs);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
///
/// # Errors
///
/// If a dimension exceeds [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION), or `O` cannot count the nonzeros.
impl<V: Value, O: Offset> TryFrom<&CsMatI<V, usize, usize>> for Csr<V, O> {
    type Error = MatrixError;

    fn try_from(matrix: &CsMatI<V, usize, usize>) -> Result<Self, MatrixError> {
        if !matrix.is_csr() {
            return Self::try_from(&matrix.to_csr());
        }
        let offsets = matrix.proper_indptr();
        from_usize(
            matrix.shape(),
            offsets.iter().copied(),
            matrix.indices().iter().copied(),
            matrix.data().to_vec(),
        )
    }
}

/// To sprs. The arrays are moved. sprs requires canonical rows: others are sorted, and duplicates summed.
impl<V: Value, O: Offset + SpIndex> From<Csr<V, O>> for CsMatI<V, u32, O> {
    fn from(matrix: Csr<V, O>) -> Self {
        let matrix = canonical(matrix);
        let shape = (matrix.nrows(), matrix.ncols());
        let (row_offsets, column_indices, values) = matrix.into_parts();
        // SAFETY: there is one offset more than rows; offsets run from 0 to the number of nonzeros without decreasing;
        // columns are in range and increase in every row.
        unsafe { Self::new_unchecked(CompressedStorage::CSR, shape, row_offsets, column_indices, values) }
    }
}

/// To sprs with its default types. Everything is copied. Rows become canonical as in the other conversion.
impl<V: Value, O: Offset> From<&Csr<V, O>> for CsMatI<V, usize, usize> {
    fn from(matrix: &Csr<V, O>) -> Self {
        let matrix = canonical(matrix.clone());
        let shape = (matrix.nrows(), matrix.ncols());
        let (row_offsets, column_indices) =
            (to_usize(matrix.row_offsets()), to_usize(matrix.column_indices()));
        let (_, _, values) = matrix.into_parts();
        // SAFETY: as for the other conversion.
        unsafe { Self::new_unchecked(CompressedStorage::CSR, shape, row_offsets, column_indices, values) }
    }
}
