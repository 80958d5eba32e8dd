//! Generalized minimal residuals, and their flexible variant.

use evenpath::{DeviceSlice, DeviceVec, Value};

use super::basis::{add, orthogonalize};
use super::hessenberg::Hessenberg;
use crate::driver::{Cycle, Progress, solve};
use crate::error::Result;
use crate::scalars::{Scalars, epsilon};
use crate::work::{Work, divide};
use crate::{Breakdown, LinearOperator, Preconditioner, Report, SolverOptions};

/// Generalized minimal residuals for any square A, restarted after
/// [`SolverOptions::with_restart`] steps, with the preconditioner on the right: AM⁻¹u = b, x = M⁻¹u. The residual that
/// it makes least is thus that of the system, without the preconditioner.
///
/// It keeps a vector for each step until a restart, and one. A step makes the new vector orthogonal to them, by
/// Gram–Schmidt twice, and waits for the device twice.
///
/// Sources: Saad and Schultz, SIAM J. Sci. Stat. Comput. 7, 1986; Saad, *Iterative Methods for Sparse Linear Systems*,
/// 2003, section 9.3.2.
pub struct Gmres<'a, V: Value> {
    work: Work<'a, V>,
    options: SolverOptions,
    arnoldi: Arnoldi<V>,
}

/// Flexible [`Gmres`]: the preconditioner may change from step to step, such as when it is an iterative method itself.
/// It keeps two vectors for each step.
///
/// Source: Saad, SIAM J. Sci. Comput. 14, 1993.
pub struct Fgmres<'a, V: Value> {
    work: Work<'a, V>,
    options: SolverOptions,
    arnoldi: Arnoldi<V>,
}

macro_rules! restarted {
    ($solver:ident, $is_flexible:literal) => {
        impl<'a, V: Value> $solver<'a, V> {
            /// Allocates the vectors of the method: their number is given by
            /// [`SolverOptions::with_restart`].
            ///
            /// # Errors
            ///
            /// If the operator is not square, an option is out of range, or there is too little memory.
            pub fn new(
                operator: &'a dyn LinearOperator<V>,
                preconditioner: &'a dyn Preconditioner<V>,
                options: SolverOptions,
            ) -> Result<Self> {
                options.check()?;
                let work = Work::new(operator, preconditioner)?;
                let arnoldi = Arnoldi::new(&work, options.restart, $is_flexible)?;
                Ok(Self { work, options, arnoldi })
            }

            /// Solves Ax = b from the guess `x`, as often as needed. `b` and `x` have as many elements as A has rows.
            ///
            /// # Errors
            ///
            /// If a vector has another length or is on another device, or the device failed. That x was not found is
            /// no error: see [`Report::outcome`].
            pub fn solve(&mut self, b: &DeviceSlice<V>, x: &mut DeviceSlice<V>) -> Result<Report> {
                solve(&mut self.arnoldi, &mut self.work, (b, x), &self.options)
            }
        }
    };
}
restarted!(Gmres, false);
restarted!(Fgmres, true);

/// The vectors of the Arnoldi process.
struct Arnoldi<V: Value> {
    is_flexible: bool,
    /// Orthonormal vectors, one more than steps until a restart.
    basis: Vec<DeviceVec<V>>,
    /// The vectors, preconditioned: all of a flexible method, the last of another.
    preconditioned: Vec<DeviceVec<V>>,
    scalars: Scalars<V>,
}

impl<V: Value> Arnoldi<V> {
    fn new(work: &Work<V>, restart: usize, is_flexible: bool) -> Result<Self> {
        let mut rows = [work.len() as f64];
        work.operator.sum_over_ranks(&mut rows)?;
        // The space has no more dimensions.
        let steps = restart.min(rows[0] as usize).max(1);
        let zeros = |count: usize| (0..count).map(|_| work.zeros()).collect::<Result<Vec<_>>>();
        let basis = zeros(steps + 1)?;
        let preconditioned = zeros(if is_flexible { steps } else { 1 })?;
        Ok(Self { is_flexible, basis, preconditioned, scalars: Scalars::new(work.device(), steps + 1)? })
    }

    /// Extends the space by a vector. Returns how the steps end, if they do.
    fn step(
        &mut self,
        work: &mut Work<V>,
        problem: &mut Hessenberg,
        step: usize,
        progress: &mut Progress,
    ) -> Result<Option<End>> {
        let (basis, rest) = self.basis.split_at_mut(step + 1);
        let is_last = rest.len() == 1;
        let w = &mut rest[0];
        let z = &mut self.preconditioned[if self.is_flexible { step } else { 0 }];
        work.precondition(&basis[step], z)?;
        work.apply(z, w)?;
        let column = orthogonalize(work, &mut self.scalars, basis, w)?;
        // Nothing but rounding is left of w: the space holds all further vectors.
        let rounding = 16.0 * epsilon::<V>() * column.before;
        let is_invariant = column.norm <= rounding;
        let below = if is_invariant { 0.0 } else { column.norm };
        let is_singular = !problem.push(column.coefficients, below, rounding);
        if progress.push(problem.residual()) {
            return Ok(Some(End::Update));
        }
        if is_singular {
            return Ok(Some(End::Singular));
        }
        if is_invariant || is_last {
            return Ok(Some(End::Update));
        }
        divide(w, column.norm)?;
        Ok(None)
    }

    /// Adds the correction to x.
    fn update(
        &mut self,
        work: &mut Work<V>,
        y: &[f64],
        x: &mut DeviceSlice<V>,
        u: &mut DeviceSlice<V>,
    ) -> Result<()> {
        if self.is_flexible {
            return add(&self.preconditioned, y, x);
        }
        u.set_zero()?;
        add(&self.basis, y, u)?;
        let z = &mut self.preconditioned[0];
        work.precondition(u, z)?;
        add(std::slice::from_ref(z), &[1.0], x)
    }
}

/// How the steps until a restart end.
enum End {
    Update,
    Singular,
}

impl<V: Value> Cycle<V> for Arnoldi<V> {
    fn name(&self) -> &'static str {
        if self.is_flexible { "FGMRES" } else { "GMRES" }
    }

    fn run(
        &mut self,
        work: &mut Work<V>,
        x: &mut DeviceSlice<V>,
        r: &mut DeviceSlice<V>,
        progress: &mut Progress,
    ) -> Result<Option<Breakdown>> {
        let beta = work.norm2(r)?;
        divide(r, beta)?;
        self.basis[0].copy_from(r)?;
        let mut problem = Hessenberg::new(beta);
        let mut step = 0;
        let end = loop {
            match self.step(work, &mut problem, step, progress)? {
                Some(end) => break end,
                None => step += 1,
            }
        };
        self.update(work, &problem.solve(), x, r)?;
        Ok(matches!(end, End::Singular).then_some(Breakdown::Singular))
    }
}
