//! Smoothers: polynomials of D⁻¹A.

use evenpath::Value;

use super::options::AmgSmoother;

/// Factor of the estimate of the spectral radius, which is low.
const SAFETY: f64 = 1.1;
/// Ratio of the ends of the interval on which the polynomial is small. Of ratios from 2 to 30, this one takes the fewest steps of CG
/// for degrees 2 to 4 on Poisson problems in two and three dimensions; with 30 and degree 2 it takes 13 in place of 9.
const INTERVAL: f64 = 10.0;

/// A step of a smoother, p = `step`·D⁻¹r + `momentum`·p and x += p.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step<V> {
    pub(super) momentum: V,
    pub(super) step: V,
}

/// The steps of a smoother for a spectral radius of D⁻¹A.
pub(super) fn steps<V: Value>(smoother: AmgSmoother, radius: f64) -> Vec<Step<V>> {
    // A radius of zero is that of a zero matrix, which needs no smoother.
    let radius = if radius > 0.0 { radius } else { 1.0 };
    match smoother {
        AmgSmoother::Jacobi { steps } => vec![step(0.0, 4.0 / 3.0 / radius); steps],
        AmgSmoother::Chebyshev { degree } => chebyshev(degree, SAFETY * radius),
    }
}

/// The recurrence of Chebyshev polynomials on the interval from `highest` / 10 to `highest`.
///
/// Source: Saad, Iterative methods for sparse linear systems, 2003, algorithm 12.1.
fn chebyshev<V: Value>(degree: usize, highest: f64) -> Vec<Step<V>> {
    let lowest = highest / INTERVAL;
    let (center, half) = (f64::midpoint(highest, lowest), (highest - lowest) / 2.0);
    let sigma = center / half;
    let mut rho = 1.0 / sigma;
    let mut steps = vec![step(0.0, 1.0 / center)];
    for _ in 1..degree {
        let next = 1.0 / (2.0 * sigma - rho);
        steps.push(step(next * rho, 2.0 * next / half));
        rho = next;
    }
    steps
}

fn step<V: Value>(momentum: f64, step: f64) -> Step<V> {
    Step { momentum: V::from_f64(momentum), step: V::from_f64(step) }
}

#[cfg(test)]
mod tests {
    use super::{Step, chebyshev};

    /// 1 − λ p(λ), the factor of the error in an eigenvector.
    fn factor(steps: &[Step<f64>], lambda: f64) -> f64 {
        let (mut error, mut p) = (1.0, 0.0);
        for step in steps {
            p = step.step * lambda * error + step.momentum * p;
            error -= p;
        }
        error
    }

    #[test]
    fn chebyshev_factors_are_those_of_the_polynomials() {
        // T₂ and T₃ on [1, 10], scaled to 1 at 0.
        let polynomials: [fn(f64) -> f64; 2] = [|x| 2.0 * x * x - 1.0, |x| (4.0 * x * x - 3.0) * x];
        for (degree, polynomial) in (2..).zip(polynomials) {
            let steps = chebyshev(degree, 10.0);
            for lambda in [0.0, 1.0, 2.5, 5.5, 10.0] {
                let expected = polynomial((11.0 - 2.0 * lambda) / 9.0) / polynomial(11.0 / 9.0);
                assert!((factor(&steps, lambda) - expected).abs() < 1e-13, "degree {degree} at {lambda}");
            }
        }
    }
}
