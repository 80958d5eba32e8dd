//! Chebyshev polynomials.

use std::sync::{Mutex, PoisonError};

use evenpath::{DeviceSlice, DeviceVec, Value};

use crate::error::{Error, Result, check_square};
use crate::hash::hashed;
use crate::polynomial::{Step, chebyshev};
use crate::vectors::{axpby, divide};
use crate::work::norm2;
use crate::{LinearOperator, Preconditioner};

/// A Chebyshev polynomial in M⁻¹A, for symmetric positive definite A and M: `degree` applications of M⁻¹, and one product with A
/// less. M is another preconditioner, such as [`Jacobi`](crate::Jacobi) or [`Identity`](crate::Identity).
///
/// It has no inner products, so that it does not wait, and fits a device better than triangular solves. The polynomial is small on
/// an interval of eigenvalues; those below it are left to the method.
///
/// Sources: Saad, *Iterative Methods for Sparse Linear Systems*, 2003, algorithm 12.1; Adams, Brezina, Hu and Tuminaro,
/// J. Comput. Phys. 188, 2003.
pub struct Chebyshev<'a, V: Value> {
    operator: &'a dyn LinearOperator<V>,
    preconditioner: &'a dyn Preconditioner<V>,
    degree: usize,
    bounds: (f64, f64),
    /// Memory of one application at a time.
    vectors: Mutex<Vectors<V>>,
}

struct Vectors<V: Value> {
    residual: DeviceVec<V>,
    step: DeviceVec<V>,
    /// The product with A, and M⁻¹ times the residual.
    product: DeviceVec<V>,
}

/// Number of power steps that estimate the largest eigenvalue.
const POWER_STEPS: usize = 20;
/// The estimate is from below.
const SAFETY: f64 = 1.1;
/// Ratio of the ends of the interval.
const RATIO: f64 = 30.0;

impl<'a, V: Value> Chebyshev<'a, V> {
    /// Estimates the largest eigenvalue λ of M⁻¹A by 20 power steps from a fixed vector, and takes the interval from 1.1λ/30 to 1.1λ.
    /// Waits for the device.
    ///
    /// # Errors
    ///
    /// If the operator is not square, the degree is 0, or the estimate is not positive and finite. If there is too little memory, or
    /// the device was lost.
    pub fn new(
        operator: &'a dyn LinearOperator<V>,
        preconditioner: &'a dyn Preconditioner<V>,
        degree: usize,
    ) -> Result<Self> {
        let mut polynomial = Self::with_bounds(operator, preconditioner, degree, (1.0, 2.0))?;
        let largest = SAFETY * polynomial.largest_eigenvalue()?;
        polynomial.bounds = checked((largest / RATIO, largest))?;
        Ok(polynomial)
    }

    /// Takes the interval of eigenvalues that is given: the lower end and the upper one. The eigenvalues of M⁻¹A must not exceed the
    /// upper end.
    ///
    /// # Errors
    ///
    /// If the operator is not square, the degree is 0, or the ends are not finite, positive and in this order. If there is too little
    /// memory, or the device was lost.
    pub fn with_bounds(
        operator: &'a dyn LinearOperator<V>,
        preconditioner: &'a dyn Preconditioner<V>,
        degree: usize,
        bounds: (f64, f64),
    ) -> Result<Self> {
        let rows = operator.nrows();
        check_square((rows, operator.ncols()))?;
        if degree == 0 {
            let value = degree.to_string();
            return Err(Error::Option { option: "the degree", value, needed: "at least 1" });
        }
        let bounds = checked(bounds)?;
        let zeros = || operator.device().zeros(rows);
        let vectors = Vectors { residual: zeros()?, step: zeros()?, product: zeros()? };
        Ok(Self { operator, preconditioner, degree, bounds, vectors: Mutex::new(vectors) })
    }

    /// The interval of eigenvalues.
    pub fn bounds(&self) -> (f64, f64) {
        self.bounds
    }

    /// An estimate of the largest eigenvalue of M⁻¹A, from below.
    fn largest_eigenvalue(&self) -> Result<f64> {
        let Vectors { residual: v, step: w, product } =
            &mut *self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        let start: Vec<V> = hashed(0, self.operator.nrows());
        v.copy_from_slice(&start)?;
        let mut length = norm2(self.operator, v)?;
        if length == 0.0 {
            return Ok(1.0); // there are no rows
        }
        for _ in 0..POWER_STEPS {
            divide(v, length)?;
            self.operator.apply(v, product)?;
            self.preconditioner.apply(product, w)?;
            std::mem::swap(v, w);
            length = norm2(self.operator, v)?;
        }
        Ok(length)
    }
}

fn checked((low, high): (f64, f64)) -> Result<(f64, f64)> {
    if low > 0.0 && low < high && high.is_finite() {
        return Ok((low, high));
    }
    let needed = "finite, positive and in this order";
    Err(Error::Option {
        option: "the interval of eigenvalues",
        value: format!("{low:e} to {high:e}"),
        needed,
    })
}

impl<V: Value> Preconditioner<V> for Chebyshev<'_, V> {
    fn apply(&self, r: &DeviceSlice<V>, z: &mut DeviceSlice<V>) -> Result<()> {
        let Vectors { residual, step, product } =
            &mut *self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
        self.preconditioner.apply(r, product)?;
        let steps = chebyshev(self.degree, self.bounds);
        for (at, Step { momentum, step: length }) in steps.into_iter().enumerate() {
            if at == 1 {
                residual.copy_from(r)?;
            }
            if at > 0 {
                self.operator.apply(step, product)?;
                axpby(-1.0, product, 1.0, residual)?;
                self.preconditioner.apply(residual, product)?;
            }
            axpby(length, product, momentum, step)?;
            axpby(1.0, step, if at > 0 { 1.0 } else { 0.0 }, z)?;
        }
        Ok(())
    }

    fn can_capture(&self) -> bool {
        self.operator.can_capture() && self.preconditioner.can_capture()
    }

    fn is_linear(&self) -> bool {
        self.preconditioner.is_linear()
    }
}
