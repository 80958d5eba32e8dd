//! Chebyshev polynomials that are small on an interval of eigenvalues.

/// A step of a polynomial, p = `step`·M⁻¹r + `momentum`·p and x += p.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub(crate) momentum: f64,
    pub(crate) step: f64,
}

/// The steps of a polynomial of this degree, at least 1, that is small from `lowest` to `highest`.
///
/// Source: Saad, *Iterative Methods for Sparse Linear Systems*, 2003, algorithm 12.1.
pub(crate) fn chebyshev(degree: usize, (lowest, highest): (f64, f64)) -> Vec<Step> {
    let (center, half_width) = (f64::midpoint(highest, lowest), (highest - lowest) / 2.0);
    let sigma = center / half_width;
    let mut rho = 1.0 / sigma;
    let mut steps = vec![Step { momentum: 0.0, step: 1.0 / center }];
    for _ in 1..degree {
        let next = 1.0 / (2.0 * sigma - rho);
        steps.push(Step { momentum: next * rho, step: 2.0 * next / half_width });
        rho = next;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::{Step, chebyshev};

    /// 1 − λ p(λ), the factor of the error in an eigenvector.
    fn factor(steps: &[Step], lambda: f64) -> f64 {
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
            let steps = chebyshev(degree, (1.0, 10.0));
            for lambda in [0.0, 1.0, 2.5, 5.5, 10.0] {
                let expected = polynomial((11.0 - 2.0 * lambda) / 9.0) / polynomial(11.0 / 9.0);
                assert!((factor(&steps, lambda) - expected).abs() < 1e-13, "degree {degree} at {lambda}");
            }
        }
    }
}
