//! Operations on a [`HiSparse`] in host memory. They run on the CPU.

use crate::op::operands::{check_len, check_shape, check_slices};
use crate::{HiSparse, OpError, Value, cpu};

/// Products and sums. They run on the CPU, on all its threads, and are the same to the last bit in every run.
impl<V: Value, const D: usize> HiSparse<V, D> {
    /// Computes `y = alpha A x + beta y`, A transposed and scaled as it is. Where `beta` is 0, `y` is overwritten whatever
    /// it holds.
    ///
    /// `x` has an element for each column, and `y` one for each row.
    ///
    /// # Errors
    ///
    /// If a vector has another length, or there is no memory for the list of leaves, 16 bytes each; then nothing is written.
    pub fn spmv(&self, alpha: V, x: &[V], beta: V, y: &mut [V]) -> Result<(), OpError> {
        check_slices((self.rows(), self.cols()), x, y)?;
        Ok(cpu::hisparse::multiply(self, 1, alpha, x, beta, y)?)
    }

    /// Computes `C = alpha A B + beta C`, A transposed and scaled as it is, B and C dense, row after row, and `columns` wide.
    /// Where `beta` is 0, C is overwritten whatever it holds.
    ///
    /// B has a row for each column of A, and C one for each row.
    ///
    /// # Errors
    ///
    /// If B or C has another number of elements, or there is no memory for the list of leaves, 16 bytes each; then nothing
    /// is written.
    pub fn spmm(&self, columns: usize, alpha: V, b: &[V], beta: V, c: &mut [V]) -> Result<(), OpError> {
        let (rows, cols) = (self.rows(), self.cols());
        check_len("B", b.len(), cols.saturating_mul(columns))?;
        check_len("C", c.len(), rows.saturating_mul(columns))?;
        Ok(cpu::hisparse::multiply(self, columns, alpha, b, beta, c)?)
    }

    /// The sum of two matrices, each transposed and scaled as it is: with A and `A.transpose()`, A + Aᵀ. What one of them
    /// has, the sum has, be it 0. Its scale is 1.
    ///
    /// # Errors
    ///
    /// If shapes differ, or there is no memory for the sum.
    pub fn add(&self, other: &Self) -> Result<Self, OpError> {
        check_shape("B", (other.rows(), other.cols()), (self.rows(), self.cols()))?;
        Ok(cpu::hisparse::add(self, other)?)
    }

    /// The product A·B, each transposed and scaled as it is; its scale is 1. Where entries of A and of B meet, the product
    /// has an entry, be their sum 0 (Gustavson, "Two fast algorithms for sparse matrices", 1978, first by leaves, then in
    /// leaves).
    ///
    /// ```
    /// use evenpath::hisparse::HiSparseOptions;
    /// use evenpath::{Csr, HiSparse};
    ///
    /// let a: Csr<f64> = Csr::from_triplets(2, 300, [(0, 0, 1.0), (0, 299, 2.0), (1, 299, 3.0)])?;
    /// let a: HiSparse<f64> = a.to_hisparse(HiSparseOptions::default())?;
    /// let product = a.multiply(&a.transpose())?;
    /// assert_eq!((product.get(0, 0), product.get(0, 1), product.get(1, 1)), (Some(5.0), Some(6.0), Some(9.0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If B does not have a row for each column of A, the nodes take more than 16 GiB
    /// ([`MatrixError::PoolTooLarge`](crate::MatrixError::PoolTooLarge)), or there is no memory for the product.
    pub fn multiply(&self, b: &Self) -> Result<Self, OpError> {
        check_product_shape((self.rows(), self.cols()), (b.rows(), b.cols()))?;
        Ok(cpu::hisparse::product(self, b)?)
    }
}

/// Whether a matrix of so many rows and columns can be multiplied with the other.
pub(super) fn check_product_shape(a: (usize, usize), b: (usize, usize)) -> Result<(), OpError> {
    check_shape("B", b, (a.1, b.1))
}
