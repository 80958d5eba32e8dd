//! Options of algebraic multigrid.

use super::krylov::MAX_STEPS;
use crate::error::{Error, Result};

/// Maximum number of rows that a coarsest matrix may have to be inverted.
const MAX_INVERTED: usize = 2000;

/// Default threshold of strong couplings. It is below the couplings of stencils, 1/32 for 27 points, and above those across jumps of
/// coefficients and strong anisotropy, over which an aggregate must not reach.
const DEFAULT_STRENGTH: f64 = 0.02;

/// Smoother of a multigrid cycle, before and after each coarse correction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmgSmoother {
    /// Damped Jacobi, x += ω D⁻¹ r with ω = 4/3 / ρ(D⁻¹A).
    Jacobi {
        /// Number of steps.
        steps: usize,
    },
    /// The Chebyshev polynomial of D⁻¹A that is smallest on the upper 9/10 of its spectrum.
    ///
    /// Source: Adams, Brezina, Hu, Tuminaro, J. Comput. Phys. 188, 2003.
    Chebyshev {
        /// Degree of the polynomial, the number of products with A.
        degree: usize,
    },
    /// Symmetric Gauss–Seidel by colors, [`MulticolorGaussSeidel`](crate::MulticolorGaussSeidel): a sweep forward and one backward. On a GPU it
    /// takes two launches a color and level, on the coarse levels too, and wins where the polynomials of the diagonal
    /// smooth badly.
    GaussSeidel {
        /// Number of symmetric sweeps.
        sweeps: usize,
    },
}

/// Order in which a cycle visits the levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AmgCycle {
    /// Each level once down and once up.
    V,
    /// Two coarse corrections on every level.
    W,
    /// Steps of flexible conjugate gradients on every coarse level but the coarsest, each with a cycle of the levels below it as the
    /// preconditioner. Where V-cycles take more steps the more levels there are, K-cycles take about as many as with two levels.
    ///
    /// With two steps a cycle does the work of a [`W`](Self::W)-cycle and a few vector operations more. It does not wait for the
    /// device. It is not linear, so that the outer method must be flexible: [`Fgmres`](crate::Fgmres), or
    /// [`Cg`](crate::Cg) with [`SolverOptions::with_flexible`](crate::SolverOptions::with_flexible). Others refuse it.
    ///
    /// Source: Notay, Vassilevski, Numer. Linear Algebra Appl. 15, 2008.
    K {
        /// Number of steps, 1 or 2.
        steps: usize,
    },
}

/// Options of [`SmoothedAggregation`](crate::SmoothedAggregation), and of the same over ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AmgOptions {
    pub(super) strength: f64,
    pub(super) is_filtered: bool,
    pub(super) block_size: usize,
    pub(super) max_levels: usize,
    pub(super) max_coarse: usize,
    pub(super) max_gathered: usize,
    pub(super) smoother: AmgSmoother,
    pub(super) cycle: AmgCycle,
}

impl Default for AmgOptions {
    /// Couplings above 0.02 are strong; at most 20 levels; a coarsest matrix of 200 rows at most; V-cycles with Chebyshev polynomials of
    /// degree 2. Over ranks, a level of 10 000 rows at most is gathered on every rank.
    fn default() -> Self {
        Self {
            strength: DEFAULT_STRENGTH,
            is_filtered: true,
            block_size: 1,
            max_levels: 20,
            max_coarse: 200,
            max_gathered: 10_000,
            smoother: AmgSmoother::Chebyshev { degree: 2 },
            cycle: AmgCycle::V,
        }
    }
}

impl AmgOptions {
    /// Sets the threshold θ of strong couplings: |aᵢⱼ|² > θ² |aᵢᵢ aⱼⱼ|. It is at least 0 and less than 1. The default is 0.02; with
    /// 0 all couplings are strong. Anisotropic problems may need more, such as 0.1.
    #[must_use]
    pub fn with_strength(self, threshold: f64) -> Self {
        Self { strength: threshold, ..self }
    }

    /// Adds weak couplings to the diagonal before the prolongation is smoothed, which keeps coarse matrices sparse. This is the
    /// default; it changes nothing where all couplings are strong.
    #[must_use]
    pub fn with_filtered_prolongation(self, is_filtered: bool) -> Self {
        Self { is_filtered, ..self }
    }

    /// Sets the number of unknowns per node, such as 3 for displacements. Unknowns of a node have consecutive numbers, and are
    /// aggregated together.
    #[must_use]
    pub fn with_block_size(self, block_size: usize) -> Self {
        Self { block_size, ..self }
    }

    /// Sets the maximum number of levels.
    #[must_use]
    pub fn with_max_levels(self, max_levels: usize) -> Self {
        Self { max_levels, ..self }
    }

    /// Sets the maximum number of rows of a matrix that is not coarsened further, but inverted: 2000 at most.
    #[must_use]
    pub fn with_max_coarse(self, max_coarse: usize) -> Self {
        Self { max_coarse, ..self }
    }

    /// Sets the maximum number of rows over all ranks for a level to be gathered on every rank. Each rank then solves that level and those
    /// below it by itself. Levels that are small enough to be inverted are always gathered. Without ranks the option has no effect.
    #[must_use]
    pub fn with_max_gathered(self, max_gathered: usize) -> Self {
        Self { max_gathered, ..self }
    }

    /// Sets the smoother.
    #[must_use]
    pub fn with_smoother(self, smoother: AmgSmoother) -> Self {
        Self { smoother, ..self }
    }

    /// Sets the cycle.
    #[must_use]
    pub fn with_cycle(self, cycle: AmgCycle) -> Self {
        Self { cycle, ..self }
    }

    /// Checks that the options are supported over ranks.
    #[cfg(feature = "distributed")]
    pub(super) fn check_over_ranks(&self) -> Result<()> {
        let refuse = |option, value: &str, needed| Err(Error::Option { option, value: value.into(), needed });
        if matches!(self.cycle, AmgCycle::K { .. }) {
            return refuse("the multigrid cycle", "a K-cycle", "V or W over ranks");
        }
        if matches!(self.smoother, AmgSmoother::GaussSeidel { .. }) {
            return refuse("the multigrid smoother", "Gauss–Seidel", "Jacobi or Chebyshev over ranks");
        }
        Ok(())
    }

    /// Checks the options for a matrix of `rows` rows.
    pub(super) fn check(&self, rows: usize) -> Result<()> {
        let refuse = |option, value: String, needed| Err(Error::Option { option, value, needed });
        if !(0.0..1.0).contains(&self.strength) {
            return refuse(
                "the threshold of strong couplings",
                self.strength.to_string(),
                "from 0 to less than 1",
            );
        }
        if self.block_size == 0 || !rows.is_multiple_of(self.block_size) {
            return refuse("block_size", self.block_size.to_string(), "a divisor of the number of rows");
        }
        if self.max_levels == 0 {
            return refuse("max_levels", "0".into(), "at least 1");
        }
        if self.max_coarse > MAX_INVERTED {
            return refuse("max_coarse", self.max_coarse.to_string(), "2000 at most");
        }
        if let AmgCycle::K { steps } = self.cycle
            && !(1..=MAX_STEPS).contains(&steps)
        {
            return refuse("the number of steps of a K-cycle", steps.to_string(), "1 or 2");
        }
        match self.smoother {
            AmgSmoother::Jacobi { steps: 0 } => {
                refuse("the number of Jacobi steps", "0".into(), "at least 1")
            }
            AmgSmoother::GaussSeidel { sweeps: 0 } => {
                refuse("the number of Gauss–Seidel sweeps", "0".into(), "at least 1")
            }
            AmgSmoother::Chebyshev { degree: 0 } => refuse("the Chebyshev degree", "0".into(), "at least 1"),
            _ => Ok(()),
        }
    }
}
