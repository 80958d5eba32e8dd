//! Smoothers: polynomials of D⁻¹A.

use super::options::AmgSmoother;
use crate::polynomial::{Step, chebyshev};

/// Factor of the estimate of the spectral radius, which is low.
const SAFETY: f64 = 1.1;
/// Ratio of the ends of the interval on which the polynomial is small. Of ratios from 2 to 30, this one takes the fewest steps of CG
/// for degrees 2 to 4 on Poisson problems in two and three dimensions; with 30 and degree 2 it takes 13 in place of 9.
const INTERVAL: f64 = 10.0;

/// The steps of a smoother for a spectral radius of D⁻¹A.
pub(super) fn steps(smoother: AmgSmoother, radius: f64) -> Vec<Step> {
    // A radius of zero is that of a zero matrix, which needs no smoother.
    let radius = if radius > 0.0 { radius } else { 1.0 };
    match smoother {
        AmgSmoother::Jacobi { steps } => vec![Step { momentum: 0.0, step: 4.0 / 3.0 / radius }; steps],
        AmgSmoother::Chebyshev { degree } => {
            let highest = SAFETY * radius;
            chebyshev(degree, (highest / INTERVAL, highest))
        }
    }
}
