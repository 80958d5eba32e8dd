//! Rows and columns of a matrix in another order.

use super::RowOrder;
use crate::matrix::{Csr, CsrView, MatrixError};
use crate::{Offset, Storage, parallel};

impl<V: Storage, O: Offset> Csr<V, O> {
    /// Returns P·A·Pᵀ: row i and column i of the result are row and column `order[i]` of this square matrix. Rows of the result are
    /// sorted by column; entries of the same row and column keep their order. For rows alone see [`select_rows`](Self::select_rows).
    ///
    /// [`DeviceRowOrder::restore`](crate::row_order::DeviceRowOrder::restore) puts the result of a product back into the order of A.
    ///
    /// ```
    /// use evenpath::Csr;
    /// use evenpath::row_order::RowOrder;
    ///
    /// let a = Csr::from_triplets(3, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0), (2, 2, 4.0)])?;
    /// let permuted = a.permute(&RowOrder::try_new(vec![2, 0, 1])?)?;
    /// assert_eq!(permuted.to_dense()?, [4.0, 0.0, 0.0, 2.0, 1.0, 0.0, 0.0, 0.0, 3.0]);
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square, the order has another number of rows, or there is not enough memory.
    pub fn permute(&self, order: &RowOrder) -> Result<Self, MatrixError> {
        self.view().permute(order)
    }
}

impl<V: Storage, O: Offset> CsrView<'_, V, O> {
    /// Returns P·A·Pᵀ: see [`Csr::permute`].
    ///
    /// # Errors
    ///
    /// The same as for [`Csr::permute`].
    pub fn permute(&self, order: &RowOrder) -> Result<Csr<V, O>, MatrixError> {
        let (rows, cols) = self.shape();
        if rows != cols {
            return Err(MatrixError::NotSquare { rows, cols });
        }
        order.check(rows)?;
        let (row_offsets, mut column_indices, values) = self.select_rows(order.order())?.into_parts();
        parallel::parts_mut(&mut column_indices, 1 << 12, |_, columns| {
            for column in columns {
                *column = order.inverse()[*column as usize];
            }
        });
        let mut permuted = Csr::from_valid(rows, cols, row_offsets, column_indices, values);
        permuted.sort_rows();
        Ok(permuted)
    }
}
