//! Reports of solves.

use std::fmt;
use std::time::Duration;

/// How a solve ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The residual is within the tolerance.
    Converged,
    /// The residual is the least, but not within the tolerance: the system has no solution, and x is one in the sense of
    /// least squares. Only [`Lsqr`](crate::Lsqr) ends so.
    LeastSquares,
    /// The limit of steps was reached first.
    MaxSteps,
    /// The method cannot go on: a number that it divides by is zero, or has the wrong sign.
    Breakdown(Breakdown),
    /// The residual no longer gets smaller.
    Stagnation,
    /// The residual is infinite or not a number.
    NotANumber,
}

/// Why a method cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Breakdown {
    /// pᵀAp is not positive: the matrix is not positive definite.
    IndefiniteMatrix,
    /// rᵀM⁻¹r is not positive: the preconditioner is not positive definite.
    IndefinitePreconditioner,
    /// An inner product that the method divides by is zero.
    ZeroProduct,
    /// The stabilizing step of [`BiCgStab`](crate::BiCgStab) has length zero: the residual is orthogonal to its product with A.
    ZeroOmega,
    /// Vectors of a basis depend on each other.
    DependentVectors,
    /// The search space holds no better x, and does not hold the solution: the matrix is singular.
    Singular,
}

impl fmt::Display for Breakdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IndefiniteMatrix => "the matrix is not positive definite",
            Self::IndefinitePreconditioner => "the preconditioner is not positive definite",
            Self::ZeroProduct => "an inner product is zero",
            Self::ZeroOmega => "the residual is orthogonal to its product with the matrix",
            Self::DependentVectors => "vectors depend on each other",
            Self::Singular => "the matrix is singular",
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Converged => f.write_str("converged"),
            Self::LeastSquares => f.write_str("converged to the least residual"),
            Self::MaxSteps => f.write_str("not converged: the limit of steps was reached"),
            Self::Breakdown(reason) => write!(f, "breakdown: {reason}"),
            Self::Stagnation => f.write_str("stagnation: the residual no longer gets smaller"),
            Self::NotANumber => f.write_str("the residual is not a finite number"),
        }
    }
}

/// Time of a solve by part. Only the total is known unless the solve was
/// [profiled](crate::SolverOptions::with_profile).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// The solve as a whole.
    pub total: Duration,
    /// Products with A.
    pub products: Option<Duration>,
    /// The preconditioner.
    pub preconditioner: Option<Duration>,
}

/// Result of a solve.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The method's name.
    pub method: &'static str,
    /// How the solve ended.
    pub outcome: Outcome,
    /// Number of steps.
    pub steps: usize,
    /// ‖b − Ax‖₂ / ‖b‖₂ of the returned x, or ‖b − Ax‖₂ if b is zero.
    pub residual: f64,
    /// Residuals that the method estimated, relative in the same way: before the first step and after each.
    pub history: Vec<f64>,
    /// Time by part.
    pub times: Times,
}

impl Report {
    /// Returns whether the residual is within the tolerance, or for [`Lsqr`](crate::Lsqr) the least.
    pub fn is_converged(&self) -> bool {
        matches!(self.outcome, Outcome::Converged | Outcome::LeastSquares)
    }

    /// Advice for a solve that did not converge, `None` for one that did.
    pub fn advice(&self) -> Option<&'static str> {
        Some(match self.outcome {
            Outcome::Converged | Outcome::LeastSquares => return None,
            Outcome::MaxSteps => "allow more steps, or use a stronger preconditioner, such as AMG or ILU(0)",
            Outcome::Breakdown(Breakdown::IndefiniteMatrix) => {
                "use MINRES for a symmetric matrix, GMRES or BiCGSTAB for others"
            }
            Outcome::Breakdown(Breakdown::IndefinitePreconditioner) => {
                "use a symmetric positive definite preconditioner, such as Jacobi, IC(0) or AMG, or use GMRES"
            }
            Outcome::Breakdown(Breakdown::ZeroProduct | Breakdown::ZeroOmega) => {
                "use GMRES, or another initial guess"
            }
            Outcome::Breakdown(Breakdown::DependentVectors) => "use other guesses, or none",
            Outcome::Breakdown(Breakdown::Singular) => {
                "check that the system has a solution; MINRES or LSQR find a least-squares one"
            }
            Outcome::Stagnation => {
                "use a stronger preconditioner or a longer restart, or a larger tolerance; a singular system may \
                 have no solution"
            }
            Outcome::NotANumber => {
                "check the matrix, b and the initial guess for infinities and NaN, and the scale of rows"
            }
        })
    }

    /// Draws the history as text: the logarithm of the residual over the steps, `width` characters wide and
    /// `height` lines high.
    pub fn plot(&self, width: usize, height: usize) -> String {
        crate::plot::plot(&self.history, width, height)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { method, outcome, steps, residual, times, .. } = self;
        let plural = if *steps == 1 { "step" } else { "steps" };
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        write!(f, "{method}: {outcome} after {steps} {plural}, residual {residual:.2e}")?;
        write!(f, ", {:.2} ms", milliseconds(times.total))?;
        if let (Some(products), Some(preconditioner)) = (times.products, times.preconditioner) {
            let rest = times.total.saturating_sub(products + preconditioner);
            let [products, preconditioner, rest] = [products, preconditioner, rest].map(milliseconds);
            write!(f, " (products {products:.2}, preconditioner {preconditioner:.2}, rest {rest:.2})")?;
        }
        match self.advice() {
            Some(advice) => write!(f, "\n{advice}"),
            None => Ok(()),
        }
    }
}
