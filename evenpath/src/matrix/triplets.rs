//! CSR matrices from triplets, and as triplets.

use super::blocks::{row_blocks, split};
use super::{Coo, Csr, CsrView, Duplicates, MatrixError, validate};
use crate::memory::{try_copy, try_zeroed};
use crate::{Entry, Offset, Scalar, parallel};

impl<V: Scalar> Csr<V> {
    /// Builds a canonical matrix of `rows` rows and `cols` columns from (row, column, value) triplets in any
    /// order. Duplicates are summed in the order given.
    ///
    /// ```
    /// use evenpath::Csr;
    ///
    /// let a = Csr::from_triplets(2, 2, [(1, 0, 1.0), (0, 1, 2.0), (1, 0, 3.0)])?;
    /// assert_eq!(a.to_dense()?, [0.0, 2.0, 4.0, 0.0]);
    /// assert!(Csr::from_triplets(2, 2, [(0, 2, 1.0)]).is_err()); // the columns are 0 and 1
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a row or column is outside the matrix, or there are more triplets than `u32` can count: for those, [`Coo::from_triplets`] and
    /// [`Coo::to_csr_with_offsets`].
    pub fn from_triplets(
        rows: usize,
        cols: usize,
        triplets: impl IntoIterator<Item = (usize, usize, V)>,
    ) -> Result<Csr<V>, MatrixError> {
        Coo::from_triplets(rows, cols, triplets)?.to_csr(Duplicates::Sum)
    }
}

impl<V: Scalar, O: Offset> Csr<V, O> {
    /// Converts to COO, in the same order.
    ///
    /// # Errors
    ///
    /// If there is not enough memory.
    pub fn to_coo(&self) -> Result<Coo<V>, MatrixError> {
        self.view().to_coo()
    }
}

impl<V: Scalar, O: Offset> CsrView<'_, V, O> {
    /// Converts to COO, in the same order.
    ///
    /// # Errors
    ///
    /// If there is not enough memory.
    pub fn to_coo(&self) -> Result<Coo<V>, MatrixError> {
        let out_of_memory = |_| self.out_of_memory();
        let columns = try_copy(self.column_indices()).map_err(out_of_memory)?;
        let values = try_copy(self.values()).map_err(out_of_memory)?;
        Ok(Coo::from_valid(self.nrows(), self.ncols(), self.row_indices()?, columns, values))
    }
}

impl<V: Entry, O: Offset> CsrView<'_, V, O> {
    /// The row of each nonzero.
    pub(super) fn row_indices(&self) -> Result<Vec<u32>, MatrixError> {
        validate::threads()?;
        let mut rows = try_zeroed(self.nnz()).map_err(|()| self.out_of_memory())?;
        let blocks = row_blocks(self.row_offsets());
        parallel::for_each(split(&blocks, self.row_offsets(), &mut rows), |(block, slots)| {
            let base = self.row_offsets()[block.start].to_usize();
            for row in block {
                let range = self.range(row);
                slots[range.start - base..range.end - base].fill(row as u32);
            }
        });
        Ok(rows)
    }

    fn out_of_memory(&self) -> MatrixError {
        MatrixError::OutOfMemory { rows: self.nrows(), nnz: self.nnz() }
    }
}
