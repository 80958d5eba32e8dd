//! Operations on a [`HiSparse`] in host memory. They run on the CPU.

use crate::operand::check::{check_len, check_shape, check_slices};
use crate::{HiSparse, OpError, Value, cpu};

/// Products and sums. They run on all threads of the CPU, and results are bitwise identical in every run.
impl<V: Value, const D: usize> HiSparse<V, D> {
    /// Computes `y = alpha A x + beta y`: A is m x n, `x` has n elements, and `y` has m. Transposition and scale of A are
    /// applied. If `beta` is 0, `y` is overwritten without being read.
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let a: HiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
    /// let mut y = [0.0; 3];
    /// a.transpose().spmv(1.0, &[1.0, 10.0], 0.0, &mut y)?;
    /// assert_eq!(y, [1.0, 30.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a vector has the wrong length, or there is not enough memory for the list of leaves, 16 bytes each. Then nothing
    /// is written.
    pub fn spmv(&self, alpha: V, x: &[V], beta: V, y: &mut [V]) -> Result<(), OpError> {
        check_slices(self.shape(), x, y)?;
        Ok(cpu::hisparse::multiply(self, 1, alpha, x, beta, y)?)
    }

    /// Computes `C = alpha A B + beta C`: A is m x n, B n x `columns`, and C m x `columns`. B and C are dense and
    /// row-major. Transposition and scale of A are applied. If `beta` is 0, C is overwritten without being read.
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// let a = Csr::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// let a: HiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
    /// let b = [1.0, 2.0, 10.0, 20.0, 100.0, 200.0]; // 3 x 2
    /// let mut c = [0.0; 4];
    /// a.spmm(2, 1.0, &b, 0.0, &mut c)?;
    /// assert_eq!(c, [201.0, 402.0, 30.0, 60.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If B or C has the wrong number of elements, or there is not enough memory for the list of leaves, 16 bytes each.
    /// Then nothing is written.
    pub fn spmm(&self, columns: usize, alpha: V, b: &[V], beta: V, c: &mut [V]) -> Result<(), OpError> {
        let (rows, cols) = self.shape();
        check_len("B", b.len(), cols.saturating_mul(columns))?;
        check_len("C", c.len(), rows.saturating_mul(columns))?;
        Ok(cpu::hisparse::multiply(self, columns, alpha, b, beta, c)?)
    }

    /// Returns the sum A + B of two m x n matrices, with their transpositions and scales applied: A and
    /// `A.transpose()` give A + Aᵀ. The sum has an entry wherever either matrix has one, even if its value is 0. The
    /// scale of the sum is 1. Values of a matrix whose scale is 0 are ignored, including NaN.
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// let a = Csr::from_triplets(300, 300, [(0, 0, 1.0), (0, 299, 2.0)])?;
    /// let a: HiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
    /// let sum = a.spadd(&a.transpose())?; // or &a + &a.transpose()
    /// assert_eq!((sum.get(0, 0), sum.get(299, 0)), (Some(2.0), Some(2.0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the shapes differ, or there is not enough memory for the sum.
    pub fn spadd(&self, other: &Self) -> Result<Self, OpError> {
        check_shape("B", other.shape(), self.shape())?;
        Ok(cpu::hisparse::add(self, other)?)
    }

    /// Returns the product A·B, m x k, of A, m x n, and B, n x k, with both transpositions and scales applied. Its
    /// scale is 1. It has an entry wherever entries of A and B are multiplied, even if their sum is 0 (Gustavson, "Two
    /// fast algorithms for sparse matrices", 1978, applied to leaves, then within leaves).
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// let a = Csr::from_triplets(2, 300, [(0, 0, 1.0), (0, 299, 2.0), (1, 299, 3.0)])?;
    /// let a: HiSparse<f64> = a.to_hisparse(hisparse::Options::default())?;
    /// let product = a.spgemm(&a.transpose())?; // or &a * &a.transpose()
    /// assert_eq!((product.get(0, 0), product.get(0, 1), product.get(1, 1)), (Some(5.0), Some(6.0), Some(9.0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If B does not have a row for each column of A, the nodes take more than 16 GiB
    /// ([`MatrixError::PoolTooLarge`](crate::MatrixError::PoolTooLarge)), or there is not enough memory for the product.
    pub fn spgemm(&self, b: &Self) -> Result<Self, OpError> {
        check_product_shape(self.shape(), b.shape())?;
        Ok(cpu::hisparse::product(self, b)?)
    }
}

/// Checks that the shapes of A and B match.
pub(super) fn check_product_shape(a: (usize, usize), b: (usize, usize)) -> Result<(), OpError> {
    check_shape("B", b, (a.1, b.1))
}
