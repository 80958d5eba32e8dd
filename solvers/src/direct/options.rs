//! Options of direct solvers.

use std::fmt;

/// A factorization of a square matrix A, with rows and columns in an order that keeps the factors sparse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Factorization {
    /// `A = LU`, with pivots. For every regular matrix.
    #[default]
    Lu,
    /// `A = LLᵀ`, for a symmetric positive definite A, of which both triangles are stored.
    Cholesky,
    /// `A = LDLᵀ`, for a symmetric A, of which both triangles are stored. Pivots are chosen near the diagonal: a regular but indefinite
    /// matrix can be refused, which [`Lu`](Self::Lu) factorizes.
    Ldlt,
}

impl fmt::Display for Factorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lu => "LU",
            Self::Cholesky => "Cholesky",
            Self::Ldlt => "LDLT",
        })
    }
}

/// The kind of factorization of a [`DirectSolver`](crate::DirectSolver), and how it solves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectOptions {
    pub(super) factorization: Factorization,
    pub(super) refinement: usize,
    pub(super) has_host_fallback: bool,
}

impl DirectOptions {
    /// Sets the factorization. The default is LU.
    #[must_use]
    pub fn with_factorization(self, factorization: Factorization) -> Self {
        Self { factorization, ..self }
    }

    /// Sets the number of steps of iterative refinement after each solve: x is corrected by a solution for the residual b − Ax. A step
    /// takes another solve and a product with A. The default is 0.
    #[must_use]
    pub fn with_refinement(self, steps: usize) -> Self {
        Self { refinement: steps, ..self }
    }

    /// Lets an NVIDIA GPU without cuDSS copy the matrix and each right-hand side to the host, where faer factorizes and solves. By
    /// default that is an error.
    #[must_use]
    pub fn with_host_fallback(self, is_allowed: bool) -> Self {
        Self { has_host_fallback: is_allowed, ..self }
    }
}
