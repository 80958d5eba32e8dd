//! Incomplete factorizations as preconditioners.

use evenpath::factorization::{FactorizationOptions, Ic0Plan, Ilu0Plan};
use evenpath::triangular::{Diagonal, Triangle, TriangularOptions, TriangularPlan};
use evenpath::{DeviceCsr, DeviceSlice, Offset, Scalar};

use crate::Preconditioner;
use crate::error::Result;

/// Incomplete LU factorization without fill, ILU(0): z = U⁻¹L⁻¹r.
///
/// Source: Saad, *Iterative Methods for Sparse Linear Systems*, 2003, section 10.3.
pub struct IncompleteLu<V: Scalar, O: Offset = u32> {
    plan: Ilu0Plan<V, O>,
    factors: DeviceCsr<V, O>,
    lower: TriangularPlan<V, O>,
    upper: TriangularPlan<V, O>,
}

impl<V: Scalar, O: Offset> IncompleteLu<V, O> {
    /// Factorizes an n × n matrix. Waits for the device.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, the columns of a row do not increase, a row has no entry on the diagonal, or a pivot is
    /// zero; the error names the row. If there is too little memory, or the device was lost.
    pub fn new(a: &DeviceCsr<V, O>) -> Result<Self> {
        Self::with_options(a, FactorizationOptions::default())
    }

    /// [`new`](Self::new) with options of the factorization.
    ///
    /// # Errors
    ///
    /// The same as for [`new`](Self::new), and if the shift is negative or not a number.
    pub fn with_options(a: &DeviceCsr<V, O>, options: FactorizationOptions) -> Result<Self> {
        let plan = Ilu0Plan::new_with(a, options)?;
        let factors = plan.factorize(a)?;
        let lower = TriangularOptions::default().with_diagonal(Diagonal::Unit);
        let upper = TriangularOptions::default().with_triangle(Triangle::Upper);
        let (lower, upper) = (factors.plan_triangular_solve(lower)?, factors.plan_triangular_solve(upper)?);
        Ok(Self { plan, factors, lower, upper })
    }

    /// Factorizes new values, in the same memory and without another analysis. `a` is the matrix that the preconditioner was
    /// made for, or a [copy](DeviceCsr::copy) of it. Waits for the device.
    ///
    /// # Errors
    ///
    /// If `a` is another matrix; then nothing is changed. If a pivot is zero; the error names the row, and the factors cannot
    /// be used until an update succeeds. If the device was lost.
    pub fn update(&mut self, a: &DeviceCsr<V, O>) -> Result<()> {
        self.plan.factorize_into(a, &self.factors)?;
        Ok(self.plan.check_pivots()?)
    }

    /// L and U as one matrix: the diagonal of L is 1, and not stored.
    pub fn factors(&self) -> &DeviceCsr<V, O> {
        &self.factors
    }
}

impl<V: Scalar, O: Offset> Preconditioner<V> for IncompleteLu<V, O> {
    fn apply(&self, r: &DeviceSlice<V>, z: &mut DeviceSlice<V>) -> Result<()> {
        self.lower.solve(V::ONE, r, z)?;
        Ok(self.upper.solve_in_place(V::ONE, z)?)
    }

    fn can_capture(&self) -> bool {
        true
    }
}

/// Incomplete Cholesky factorization without fill, IC(0), of a symmetric positive definite matrix, or a Hermitian one of complex
/// numbers: z = L⁻ᴴL⁻¹r.
///
/// Source: Meijerink and van der Vorst, Math. Comp. 31, 1977.
pub struct IncompleteCholesky<V: Scalar, O: Offset = u32> {
    plan: Ic0Plan<V, O>,
    factor: DeviceCsr<V, O>,
    lower: TriangularPlan<V, O>,
    transposed: TriangularPlan<V, O>,
}

impl<V: Scalar, O: Offset> IncompleteCholesky<V, O> {
    /// Factorizes the lower triangle of an n × n matrix; entries above the diagonal are ignored. Waits for the device.
    ///
    /// # Errors
    ///
    /// If the matrix is not square, the columns of a row do not increase, a row has no entry on the diagonal, or a pivot is
    /// not positive; the error names the row. A [shift](FactorizationOptions::with_shift) helps against the last. If there is
    /// too little memory, or the device was lost.
    pub fn new(a: &DeviceCsr<V, O>) -> Result<Self> {
        Self::with_options(a, FactorizationOptions::default())
    }

    /// [`new`](Self::new) with options of the factorization.
    ///
    /// # Errors
    ///
    /// The same as for [`new`](Self::new), and if the shift is negative or not a number.
    pub fn with_options(a: &DeviceCsr<V, O>, options: FactorizationOptions) -> Result<Self> {
        let plan = Ic0Plan::new_with(a, options)?;
        let factor = plan.factorize(a)?;
        let lower = factor.plan_triangular_solve(TriangularOptions::default())?;
        let transposed = TriangularOptions::default().with_conjugate_transposed(true);
        let transposed = factor.plan_triangular_solve(transposed)?;
        Ok(Self { plan, factor, lower, transposed })
    }

    /// Factorizes new values, in the same memory and without another analysis. `a` is the matrix that the preconditioner was
    /// made for, or a [copy](DeviceCsr::copy) of it. Waits for the device.
    ///
    /// # Errors
    ///
    /// If `a` is another matrix; then nothing is changed. If a pivot is not positive; the error names the row, and the factor
    /// cannot be used until an update succeeds. If the device was lost.
    pub fn update(&mut self, a: &DeviceCsr<V, O>) -> Result<()> {
        self.plan.factorize_into(a, &self.factor)?;
        Ok(self.plan.check_pivots()?)
    }

    /// L.
    pub fn factor(&self) -> &DeviceCsr<V, O> {
        &self.factor
    }
}

impl<V: Scalar, O: Offset> Preconditioner<V> for IncompleteCholesky<V, O> {
    fn apply(&self, r: &DeviceSlice<V>, z: &mut DeviceSlice<V>) -> Result<()> {
        self.lower.solve(V::ONE, r, z)?;
        Ok(self.transposed.solve_in_place(V::ONE, z)?)
    }

    fn can_capture(&self) -> bool {
        true
    }
}
