//! Products of a batch of matrices that have one pattern.

use super::spmv::{SpmvCut, SpmvTiles};
use crate::{CsrView, Offset, Value, parallel};

/// The tiles of the pattern.
pub(crate) struct SpmvBatch {
    tiles: SpmvTiles,
}

/// The pattern and values of all matrices, and the vectors x, matrix after matrix.
pub(crate) struct SpmvBatchOperands<'a, V, O> {
    pub(crate) shape: (usize, usize),
    pub(crate) row_offsets: &'a [O],
    pub(crate) column_indices: &'a [u32],
    pub(crate) values: &'a [V],
    pub(crate) x: &'a [V],
}

impl SpmvBatch {
    /// Splits a pattern with these arrays into tiles.
    pub(crate) fn new<O: Offset>(row_offsets: &[O], column_indices: &[u32]) -> Self {
        let (cut, _) = SpmvCut::choose(row_offsets);
        Self { tiles: SpmvTiles::by_rows(row_offsets, column_indices, cut) }
    }

    /// Bytes of the tiles.
    pub(crate) fn bytes(&self) -> usize {
        self.tiles.bytes()
    }

    /// Computes `y = alpha A x + beta y` for each matrix. If `beta` is 0, `y` is overwritten without being read.
    pub(crate) fn multiply<V: Value, O: Offset>(
        &self,
        operands: &SpmvBatchOperands<'_, V, O>,
        alpha: V,
        beta: V,
        y: &mut [V],
    ) {
        let SpmvBatchOperands { shape: (rows, cols), row_offsets, column_indices, values, x } = *operands;
        let nonzeros = column_indices.len();
        parallel::chunks_mut(y, rows.max(1), |matrix, y| {
            let values = &values[matrix * nonzeros..][..nonzeros];
            let view = CsrView::from_valid(rows, cols, row_offsets, column_indices, values);
            self.tiles.multiply(view, alpha, &x[matrix * cols..][..cols], beta, y);
        });
    }
}
