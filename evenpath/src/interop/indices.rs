//! Conversion of indices to and from `usize`, which other crates use.

use crate::matrix::check_dimensions;
use crate::{Csr, MatrixError, Offset, Storage};

/// Converts a matrix with `usize` row offsets and column indices.
pub(super) fn from_usize<V: Storage, O: Offset>(
    (rows, cols): (usize, usize),
    row_offsets: impl ExactSizeIterator<Item = usize>,
    columns: impl ExactSizeIterator<Item = usize>,
    values: Vec<V>,
) -> Result<Csr<V, O>, MatrixError> {
    check_dimensions(rows, cols)?;
    let nnz = values.len();
    let overflow = || MatrixError::offset_overflow::<O>(nnz);
    let offset = |offset| O::try_from_usize(offset).ok_or_else(overflow);
    let row_offsets = row_offsets.map(offset).collect::<Result<_, _>>()?;
    // An invalid column stays invalid.
    let columns = columns.map(|column| u32::try_from(column).unwrap_or(u32::MAX)).collect();
    Ok(Csr::try_new(rows, cols, row_offsets, columns, values)?)
}

/// Converts row offsets or indices to `usize`.
pub(super) fn to_usize<O: Offset>(indices: &[O]) -> Vec<usize> {
    indices.iter().map(|index| index.to_usize()).collect()
}

/// Makes the matrix canonical, as other crates require.
pub(super) fn canonical<V: crate::Value, O: Offset>(mut matrix: Csr<V, O>) -> Csr<V, O> {
    if !matrix.is_canonical() {
        matrix.canonicalize();
    }
    matrix
}
