//! Kronecker products.

use super::blocks::{row_blocks, split_both};
use super::{Csr, CsrView, MatrixError, validate};
use crate::memory::try_zeroed;
use crate::{Offset, Storage, parallel};

/// The shape and the number of nonzeros of a Kronecker product.
pub(crate) struct KroneckerShape {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) nnz: usize,
}

impl KroneckerShape {
    /// Finds them for two matrices of a shape and a number of nonzeros each.
    pub(crate) fn new<O: Offset>(
        (a, a_nnz): ((usize, usize), usize),
        (b, b_nnz): ((usize, usize), usize),
    ) -> Result<Self, MatrixError> {
        let (rows, cols) = (a.0.saturating_mul(b.0), a.1.saturating_mul(b.1));
        validate::dimensions(rows, cols)?;
        let nnz = a_nnz.saturating_mul(b_nnz);
        match O::try_from_usize(nnz) {
            Some(_) => Ok(Self { rows, cols, nnz }),
            None => Err(MatrixError::offset_overflow::<O>(nnz)),
        }
    }
}

impl<V: Storage, O: Offset> Csr<V, O> {
    /// Returns the Kronecker product A ⊗ B: each entry of A replaced by that entry times B. For A of m × n and B of p × q, it
    /// is m·p × n·q, and entry (i, j) of A and entry (k, l) of B give entry (i·p + k, j·q + l). It is canonical if A and B are.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 10.0)])?;
    /// let b = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?;
    /// assert_eq!(a.kronecker(&b)?.to_dense()?, [0.0, 2.0, 0.0, 20.0, 3.0, 0.0, 30.0, 0.0]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the product exceeds [`MAX_DIMENSION`](crate::csr::MAX_DIMENSION), or has more nonzeros than `O` counts. If there is not enough
    /// memory.
    pub fn kronecker(&self, b: &Self) -> Result<Self, MatrixError> {
        self.view().kronecker(b.view())
    }
}

impl<V: Storage, O: Offset> CsrView<'_, V, O> {
    /// Returns the Kronecker product A ⊗ B: see [`Csr::kronecker`].
    ///
    /// # Errors
    ///
    /// The same as for [`Csr::kronecker`].
    pub fn kronecker(&self, b: CsrView<'_, V, O>) -> Result<Csr<V, O>, MatrixError> {
        let KroneckerShape { rows, cols, nnz } =
            KroneckerShape::new::<O>((self.shape(), self.nnz()), (b.shape(), b.nnz()))?;
        let out_of_memory = MatrixError::OutOfMemory { rows, nnz };
        let arrays = (try_zeroed(rows + 1), try_zeroed(nnz), try_zeroed(nnz));
        let (Ok(mut row_offsets), Ok(mut columns), Ok(mut values)) = arrays else {
            return Err(out_of_memory);
        };
        parallel::parts_mut(&mut row_offsets[1..], 1, |range, ends: &mut [O]| {
            for (row, end) in range.zip(ends) {
                let (of_a, of_b) = (self.range(row / b.nrows()), b.row_offsets()[row % b.nrows() + 1]);
                let offset = of_a.start * b.nnz() + of_a.len() * of_b.to_usize();
                *end = O::from_bits(offset as u64);
            }
        });
        let parts = split_both(&row_blocks(&row_offsets), &row_offsets, &mut columns, &mut values);
        parallel::for_each(parts, |(block, columns, values)| {
            let mut slots = columns.iter_mut().zip(values);
            for row in block {
                for in_a in self.range(row / b.nrows()) {
                    let first_column = self.column_indices()[in_a] * b.ncols() as u32;
                    // The entries come first, so that no slot is taken for one that is not there.
                    for (in_b, (column, value)) in b.range(row % b.nrows()).zip(&mut slots) {
                        *column = first_column + b.column_indices()[in_b];
                        *value = V::narrow(self.values()[in_a].widen() * b.values()[in_b].widen());
                    }
                }
            }
        });
        Ok(Csr::from_valid(rows, cols, row_offsets, columns, values))
    }
}
