//! The blocks on the diagonal.

use super::super::{MatrixError, validate};
use super::matrix::Bsr;
use crate::memory::try_zeroed;
use crate::{Offset, Value, parallel};

impl<V: Value, O: Offset> Bsr<V, O> {
    /// Returns the blocks on the diagonal, row by row: `block_size * block_size` values for each block row, of as many block
    /// rows as there are block rows and block columns. A block that is not stored is zero; duplicates are added up.
    ///
    /// ```
    /// let a = evenpath::Csr::from_triplets(4, 4, [(0, 1, 1.0), (1, 0, 2.0), (1, 2, 3.0)])?;
    /// assert_eq!(a.to_bsr(2)?.diagonal_blocks()?, [0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is not enough memory.
    pub fn diagonal_blocks(&self) -> Result<Vec<V>, MatrixError> {
        validate::threads()?;
        let (size, count) = (self.block_size(), self.block_rows().min(self.block_cols()));
        let len = count.saturating_mul(size * size);
        let out_of_memory = |()| MatrixError::OutOfMemory { rows: self.nrows(), nnz: len };
        let mut blocks = try_zeroed(len).map_err(out_of_memory)?;
        write_diagonal_blocks(size, self.row_offsets(), self.column_indices(), self.values(), &mut blocks);
        Ok(blocks)
    }
}

/// Writes the blocks on the diagonal of a matrix with these arrays, and blocks of `size` rows and columns. A block that is
/// not stored is zero; duplicates are added up.
pub(crate) fn write_diagonal_blocks<V: Value, O: Offset>(
    size: usize,
    row_offsets: &[O],
    column_indices: &[u32],
    values: &[V],
    diagonal: &mut [V],
) {
    let len = size * size;
    parallel::chunks_mut(diagonal, len, |row, target| {
        target.fill(V::ZERO);
        let blocks = row_offsets[row].to_usize()..row_offsets[row + 1].to_usize();
        for block in blocks.filter(|&block| column_indices[block] as usize == row) {
            target.iter_mut().zip(&values[block * len..][..len]).for_each(|(sum, &value)| *sum += value);
        }
    });
}
