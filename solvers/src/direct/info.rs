//! Sizes and times of a factorization.

use std::fmt;

use super::options::Factorization;

/// The library that factorizes and solves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DirectBackend {
    /// `faer`, on the host.
    Faer,
    /// `cudss`, on an NVIDIA GPU.
    Cudss {
        /// Its version: 10000 times the major, 100 times the minor, and the patch.
        version: u32,
    },
}

impl fmt::Display for DirectBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Faer => f.write_str("faer"),
            Self::Cudss { version } => {
                write!(f, "cudss {}.{}.{}", version / 10_000, version / 100 % 100, version % 100)
            }
        }
    }
}

/// Sizes, accuracy and times of a [`DirectSolver`](crate::DirectSolver)'s factorization.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct DirectInfo {
    /// The library.
    pub backend: DirectBackend,
    /// The factorization.
    pub factorization: Factorization,
    /// Number of stored elements of the factors, where the library tells it: faer does not for LU.
    pub factor_nonzeros: Option<usize>,
    /// Relative residual of a test system after one step of iterative refinement, each equation divided by its largest coefficient.
    pub residual: f64,
    /// Relative size of the step of refinement: an estimate of the relative error of solutions without it.
    pub correction: f64,
    /// Milliseconds of the analysis of the pattern.
    pub analysis_ms: f64,
    /// Milliseconds of the factorization, or of the last update.
    pub factorization_ms: f64,
    /// Milliseconds of the test system.
    pub check_ms: f64,
}

impl fmt::Display for DirectInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { backend, factorization, residual, correction, .. } = self;
        write!(f, "{factorization} by {backend}")?;
        if let Some(nonzeros) = self.factor_nonzeros {
            write!(f, ", {nonzeros} nonzeros of factors")?;
        }
        write!(f, ", residual {residual:.1e}, correction {correction:.1e}")?;
        let Self { analysis_ms, factorization_ms, check_ms, .. } = self;
        write!(
            f,
            "; analysis {analysis_ms:.2} ms, factorization {factorization_ms:.2} ms, check {check_ms:.2} ms"
        )
    }
}
