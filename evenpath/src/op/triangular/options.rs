use super::method::TriangularMethod;
use crate::names::named;

/// A triangle of a square matrix. Entries outside are ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Triangle {
    /// `lower`: the diagonal and below.
    #[default]
    Lower,
    /// `upper`: the diagonal and above.
    Upper,
}

/// The diagonal of a triangular matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Diagonal {
    /// `non-unit`: the entries on the diagonal, of which every row has one.
    #[default]
    NonUnit,
    /// `unit`: ones. Entries on the diagonal are ignored.
    Unit,
}

named! {
    Triangle, "triangle":
    Lower = "lower",
    Upper = "upper",
}

named! {
    Diagonal, "diagonal":
    NonUnit = "non-unit",
    Unit = "unit",
}

/// Options of [`DeviceCsr::plan_triangular_solve`](crate::DeviceCsr::plan_triangular_solve).
///
/// ```
/// use evenpath::triangular::{Diagonal, Triangle, TriangularOptions};
///
/// let lower = TriangularOptions::default();
/// assert_eq!((lower.triangle, lower.diagonal), (Triangle::Lower, Diagonal::NonUnit));
/// // The factor U of an LU factorization, transposed.
/// let upper = TriangularOptions::default().with_triangle(Triangle::Upper).with_transposed(true);
/// assert!(upper.transposed);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TriangularOptions {
    /// The triangle T of the matrix; by default the lower one.
    pub triangle: Triangle,
    /// Its diagonal; by default the entries of the matrix.
    pub diagonal: Diagonal,
    /// True for systems with Tᵀ instead of T. The plan then keeps a transpose of the matrix, whose values follow those of the matrix.
    pub transposed: bool,
    /// True for Tᴴ, the conjugate transpose, where [`transposed`](Self::transposed) is set; real values stay.
    pub conjugated: bool,
    /// The method; by default the plan chooses.
    pub method: TriangularMethod,
}

impl TriangularOptions {
    /// Sets the triangle.
    #[must_use]
    pub fn with_triangle(self, triangle: Triangle) -> Self {
        Self { triangle, ..self }
    }

    /// Sets the diagonal.
    #[must_use]
    pub fn with_diagonal(self, diagonal: Diagonal) -> Self {
        Self { diagonal, ..self }
    }

    /// Sets whether systems have the transpose of the triangle.
    #[must_use]
    pub fn with_transposed(self, transposed: bool) -> Self {
        Self { transposed, ..self }
    }

    /// Sets the method.
    #[must_use]
    pub fn with_method(self, method: TriangularMethod) -> Self {
        Self { method, ..self }
    }

    /// Sets whether systems have the conjugate transpose of the triangle, Tᴴ.
    ///
    /// ```
    /// use evenpath::triangular::TriangularOptions;
    /// use evenpath::{Complex, Csr};
    ///
    /// let i = Complex::new(0.0, 1.0);
    /// let a = Csr::from_triplets(1, 1, [(0, 0, i)])?;
    /// let (options, mut x) = (TriangularOptions::default().with_conjugate_transposed(true), [i]);
    /// a.view().solve_triangular(options, 1.0.into(), &[i], &mut x)?;
    /// assert_eq!(x, [(-1.0).into()]); // i·x = −i, conjugated
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_conjugate_transposed(self, is_it: bool) -> Self {
        Self { transposed: is_it, conjugated: is_it, ..self }
    }

    /// Returns whether rows are computed from the last to the first.
    pub(super) fn is_upper(self) -> bool {
        (self.triangle == Triangle::Upper) != self.transposed
    }

    /// Returns whether the diagonal is ones.
    pub(super) fn is_unit(self) -> bool {
        self.diagonal == Diagonal::Unit
    }
}
