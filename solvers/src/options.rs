//! Options of iterative methods.

use crate::error::{Error, Result};

/// When an iterative method stops, and how often it looks.
///
/// A system counts as solved when ‖b − Ax‖₂ ≤ max(`relative`·‖b‖₂, `absolute`). The residual is that of the x
/// that is returned, not the one that a method updates from step to step, which drifts by rounding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SolverOptions {
    pub(crate) relative: f64,
    pub(crate) absolute: f64,
    pub(crate) max_steps: usize,
    pub(crate) stagnation_steps: usize,
    pub(crate) check_steps: usize,
    pub(crate) restart: usize,
    pub(crate) is_profiled: bool,
    pub(crate) is_flexible: bool,
    pub(crate) one_block: Option<bool>,
}

impl Default for SolverOptions {
    /// A relative tolerance of 1e-6, at most 10,000 steps, a check every 32 steps, a restart of GMRES every 30.
    fn default() -> Self {
        Self {
            relative: 1e-6,
            absolute: 0.0,
            max_steps: 10_000,
            stagnation_steps: 1_000,
            check_steps: 32,
            restart: 30,
            is_profiled: false,
            is_flexible: false,
            one_block: None,
        }
    }
}

impl SolverOptions {
    /// Sets the tolerance of the residual relative to b.
    #[must_use]
    pub fn with_tolerance(self, relative: f64) -> Self {
        Self { relative, ..self }
    }

    /// Sets the tolerance of the residual itself. 0, the default, leaves only the relative one.
    #[must_use]
    pub fn with_absolute_tolerance(self, absolute: f64) -> Self {
        Self { absolute, ..self }
    }

    /// Sets the limit of steps. A step is one product with A, for some methods two.
    #[must_use]
    pub fn with_max_steps(self, max_steps: usize) -> Self {
        Self { max_steps, ..self }
    }

    /// Sets the number of steps without a smaller residual after which the method gives up.
    #[must_use]
    pub fn with_stagnation_steps(self, steps: usize) -> Self {
        Self { stagnation_steps: steps, ..self }
    }

    /// Sets the number of steps that are captured as one graph, after which the host reads the residuals. The
    /// result does not depend on it.
    #[must_use]
    pub fn with_check_steps(self, steps: usize) -> Self {
        Self { check_steps: steps, ..self }
    }

    /// Sets the number of steps after which [`Gmres`](crate::Gmres) and [`Fgmres`](crate::Fgmres) restart. They keep one or
    /// two vectors for each.
    #[must_use]
    pub fn with_restart(self, steps: usize) -> Self {
        Self { restart: steps, ..self }
    }

    /// Measures the time of products, of the preconditioner and of the rest. The device is waited for after each,
    /// and nothing is captured, so that the sum is longer than an ordinary solve.
    #[must_use]
    pub fn with_profile(self, is_profiled: bool) -> Self {
        Self { is_profiled, ..self }
    }

    /// Lets the preconditioner of [`Cg`](crate::Cg) change from step to step, such as multigrid with
    /// [K-cycles](crate::AmgCycle::K) or one that iterates itself. Each step then waits for the device. Other methods ignore it.
    #[must_use]
    pub fn with_flexible(self, is_flexible: bool) -> Self {
        Self { is_flexible, ..self }
    }

    /// Lets one block of a GPU do the steps of [`Cg`](crate::Cg), those between two looks in one launch, or forbids it. By default it does
    /// where the system is small. That needs an operator that [has a matrix](crate::LinearOperator::csr), a preconditioner that is a
    /// diagonal or the identity, and neither [`with_profile`](Self::with_profile) nor [`with_flexible`](Self::with_flexible): else `true` is
    /// refused. Other methods ignore it.
    #[must_use]
    pub fn with_one_block(self, is_one_block: impl Into<Option<bool>>) -> Self {
        Self { one_block: is_one_block.into(), ..self }
    }

    /// The norm of the residual at which a system with a right-hand side of norm `norm_b` is solved.
    pub(crate) fn limit(&self, norm_b: f64) -> f64 {
        self.absolute.max(self.relative * norm_b)
    }

    pub(crate) fn check(&self) -> Result<()> {
        for (option, value) in [("the tolerance", self.relative), ("the absolute tolerance", self.absolute)] {
            if !(0.0..f64::INFINITY).contains(&value) {
                let needed = "finite and not negative";
                return Err(Error::Option { option, value: value.to_string(), needed });
            }
        }
        for (option, value) in [
            ("stagnation_steps", self.stagnation_steps),
            ("check_steps", self.check_steps),
            ("restart", self.restart),
        ] {
            if value == 0 {
                return Err(Error::Option { option, value: value.to_string(), needed: "at least 1" });
            }
        }
        Ok(())
    }
}
