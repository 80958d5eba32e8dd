//! Symmetric Gauss–Seidel.

use evenpath::triangular::{Diagonal, Triangle, TriangularOptions, TriangularPlan};
use evenpath::vector::Map;
use evenpath::{DeviceCsr, DeviceSlice, DeviceVec, Offset, Value, vector};

use crate::Preconditioner;
use crate::error::{Result, check_relaxation};
use crate::preconditioner::inverse_diagonal;

/// Symmetric Gauss–Seidel, or with a relaxation factor ω symmetric successive over-relaxation (SSOR):
/// M = (D + ωL) D⁻¹ (D + ωU) / (ω(2 − ω)) for A = L + D + U, with the diagonal D and strict triangles.
///
/// M is symmetric positive definite if A is. It needs no factorization, only two triangular solves with the rows of A divided
/// by the diagonal: M⁻¹ = ω(2 − ω) (I + ωD⁻¹U)⁻¹ (I + ωD⁻¹L)⁻¹ D⁻¹.
///
/// Source: Saad, *Iterative Methods for Sparse Linear Systems*, 2003, sections 4.1 and 10.2.
pub struct SymmetricGaussSeidel<V: Value, O: Offset = u32> {
    matrix: DeviceCsr<V, O>,
    /// ωD⁻¹A.
    scaled: DeviceCsr<V, O>,
    inverse_diagonal: DeviceVec<V>,
    lower: TriangularPlan<V, O>,
    upper: TriangularPlan<V, O>,
    relaxation: f64,
}

impl<V: Value, O: Offset> SymmetricGaussSeidel<V, O> {
    /// Analyzes an n × n matrix, with ω = 1. Keeps the matrix, whose memory is shared, and a copy of its values. Waits for the
    /// device.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, the columns of a row do not increase, or a row's entry on the diagonal is missing, zero or
    /// not finite; the error names the row. If there is too little memory, or the device was lost.
    pub fn new(a: &DeviceCsr<V, O>) -> Result<Self> {
        Self::with_relaxation(a, 1.0)
    }

    /// [`new`](Self::new) with ω between 0 and 2.
    ///
    /// # Errors
    ///
    /// The same as for [`new`](Self::new), and if ω is not between 0 and 2.
    pub fn with_relaxation(a: &DeviceCsr<V, O>, relaxation: f64) -> Result<Self> {
        check_relaxation(relaxation)?;
        let (inverse_diagonal, scaled) = (inverse_diagonal(a)?, a.copy()?);
        let unit = TriangularOptions::default().with_diagonal(Diagonal::Unit);
        let lower = scaled.plan_triangular_solve(unit)?;
        let upper = scaled.plan_triangular_solve(unit.with_triangle(Triangle::Upper))?;
        let preconditioner = Self { matrix: a.clone(), scaled, inverse_diagonal, lower, upper, relaxation };
        preconditioner.scale_rows()?;
        Ok(preconditioner)
    }

    /// Takes the matrix's new values, without another analysis. Waits for the device.
    ///
    /// # Errors
    ///
    /// If an entry on the diagonal is zero or not finite; the error names the row, and the old values stay. If the device was
    /// lost.
    pub fn update(&mut self) -> Result<()> {
        self.inverse_diagonal = inverse_diagonal(&self.matrix)?;
        self.scaled.set_values_from(&self.matrix.values())?;
        self.scale_rows()
    }

    /// Multiplies the rows of the copy by ωD⁻¹.
    fn scale_rows(&self) -> Result<()> {
        let mut factors = self.scaled.device().uninitialized(self.inverse_diagonal.len())?;
        factors.copy_from(&self.inverse_diagonal)?;
        vector::map(Map::Scale(V::from_f64(self.relaxation)), &mut factors)?;
        Ok(self.scaled.scale_rows(&factors)?)
    }
}

impl<V: Value, O: Offset> Preconditioner<V> for SymmetricGaussSeidel<V, O> {
    fn apply(&self, r: &DeviceSlice<V>, z: &mut DeviceSlice<V>) -> Result<()> {
        vector::multiply_elements(&self.inverse_diagonal, r, z)?;
        self.lower.solve_in_place(V::from_f64(self.relaxation * (2.0 - self.relaxation)), z)?;
        Ok(self.upper.solve_in_place(V::ONE, z)?)
    }

    fn can_capture(&self) -> bool {
        true
    }
}
