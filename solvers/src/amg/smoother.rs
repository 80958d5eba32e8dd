//! Smoothers: polynomials of M⁻¹A, where M is the diagonal or a sweep of Gauss–Seidel.

use evenpath::{DeviceCsr, DeviceSlice, DeviceVec, Value, vector};

use super::options::AmgSmoother;
use crate::error::Result;
use crate::polynomial::{Step, chebyshev};
use crate::vectors::copied;
use crate::{MulticolorGaussSeidel, Preconditioner};

/// Factor of the estimate of the spectral radius, which is low.
const SAFETY: f64 = 1.1;
/// Ratio of the ends of the interval on which the polynomial is small. Of ratios from 2 to 30, this one takes the fewest steps of CG
/// for degrees 2 to 4 on Poisson problems in two and three dimensions; with 30 and degree 2 it takes 13 in place of 9.
const INTERVAL: f64 = 10.0;

/// The smoother of a level.
pub(super) struct Smoother<V: Value> {
    pub(super) steps: Vec<Step>,
    /// The sweeps, if M is not the diagonal.
    sweeps: Option<MulticolorGaussSeidel<V>>,
}

impl<V: Value> Smoother<V> {
    /// Sets the smoother up for a matrix whose D⁻¹A has this spectral radius.
    pub(super) fn new(
        a: &DeviceCsr<V>,
        smoother: AmgSmoother,
        (inverse_diagonal, radius): (&DeviceSlice<V>, f64),
    ) -> Result<Self> {
        let is_sweep = matches!(smoother, AmgSmoother::GaussSeidel { .. });
        let new = || MulticolorGaussSeidel::with_inverse_diagonal(a, copied(inverse_diagonal)?, 1.0);
        Ok(Self { steps: steps(smoother, radius), sweeps: is_sweep.then(new).transpose()? })
    }

    /// Follows the values that the matrix has now.
    pub(super) fn update(
        &mut self,
        smoother: AmgSmoother,
        (inverse_diagonal, radius): (&DeviceSlice<V>, f64),
    ) -> Result<()> {
        self.steps = steps(smoother, radius);
        match &mut self.sweeps {
            Some(sweeps) => sweeps.update_with(copied(inverse_diagonal)?),
            None => Ok(()),
        }
    }

    /// z = M⁻¹r.
    pub(super) fn apply(
        &self,
        inverse_diagonal: &DeviceVec<V>,
        r: &DeviceSlice<V>,
        z: &mut DeviceSlice<V>,
    ) -> Result<()> {
        match &self.sweeps {
            Some(sweeps) => sweeps.apply(r, z),
            None => Ok(vector::multiply_elements(inverse_diagonal, r, z)?),
        }
    }
}

/// The steps of a smoother for a spectral radius of D⁻¹A.
fn steps(smoother: AmgSmoother, radius: f64) -> Vec<Step> {
    // A radius of zero is that of a zero matrix, which needs no smoother.
    let radius = if radius > 0.0 { radius } else { 1.0 };
    match smoother {
        AmgSmoother::Jacobi { steps } => vec![Step { momentum: 0.0, step: 4.0 / 3.0 / radius }; steps],
        AmgSmoother::GaussSeidel { sweeps } => vec![Step { momentum: 0.0, step: 1.0 }; sweeps],
        AmgSmoother::Chebyshev { degree } => {
            let highest = SAFETY * radius;
            chebyshev(degree, (highest / INTERVAL, highest))
        }
    }
}
