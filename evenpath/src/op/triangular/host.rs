//! Triangular solves in host memory.

use super::lanes::lanes;
use super::options::TriangularOptions;
use crate::cpu::{Triangle, solve_triangle};
use crate::format::canonical::check_canonical_on_host;
use crate::operand::OpError;
use crate::operand::check::{check_len, check_shape};
use crate::{CsrView, Offset, Scalar};

impl<V: Scalar, O: Offset> CsrView<'_, V, O> {
    /// Solves op(T)·x = `alpha`·b for a triangle T of this n × n matrix, where op(T) is T, Tᵀ or Tᴴ: b and x have n elements. Entries outside
    /// the triangle are ignored.
    ///
    /// Has the bits of [`TriangularPlan::solve`](crate::triangular::TriangularPlan::solve), which analyzes the matrix once for many
    /// solutions. The method of the options has no effect.
    ///
    /// ```
    /// use evenpath::Csr;
    /// use evenpath::triangular::TriangularOptions;
    ///
    /// let a = Csr::from_triplets(2, 2, [(0, 0, 2.0), (1, 0, 1.0), (1, 1, 4.0)])?;
    /// let mut x = [0.0; 2];
    /// a.view().solve_triangular(TriangularOptions::default(), 1.0, &[2.0, 9.0], &mut x)?;
    /// assert_eq!(x, [1.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the matrix is not square, a vector has the wrong length, the columns of a row do not increase, or an entry on the diagonal is
    /// missing or zero, unless it is [`Unit`](crate::triangular::Diagonal::Unit); the error names the row. If there is too little memory
    /// for the transpose. Then nothing is written.
    pub fn solve_triangular(
        &self,
        options: TriangularOptions,
        alpha: V,
        b: &[V],
        x: &mut [V],
    ) -> Result<(), OpError> {
        let rows = self.nrows();
        check_shape("A", (rows, self.ncols()), (rows, rows))?;
        check_len("b", b.len(), rows)?;
        check_len("x", x.len(), rows)?;
        check_canonical_on_host("A", *self)?;
        if !options.transposed {
            return solve(*self, options, alpha, b, x);
        }
        let mut transpose = self.transpose()?;
        if options.conjugated {
            transpose.conjugate();
        }
        solve(transpose.view(), options, alpha, b, x)
    }
}

/// Solves with a matrix that is transposed already if the options say so.
fn solve<V: Scalar, O: Offset>(
    matrix: CsrView<'_, V, O>,
    options: TriangularOptions,
    alpha: V,
    b: &[V],
    x: &mut [V],
) -> Result<(), OpError> {
    let arrays = (matrix.row_offsets(), matrix.column_indices());
    let missing = |row| OpError::MissingDiagonal { operand: "A", row };
    let triangle = Triangle::find(arrays, (options.is_upper(), options.is_unit()), lanes).map_err(missing)?;
    if let Some(row) = triangle.zero_pivot(matrix.values()) {
        return Err(OpError::ZeroPivot { operand: "A", row });
    }
    x.copy_from_slice(b);
    solve_triangle(&triangle, (matrix.column_indices(), matrix.values()), alpha, x);
    Ok(())
}
