//! Generalized minimal residuals, and their flexible variant.

use evenpath::{Complex, DeviceSlice, DeviceVec, Scalar};

use super::basis::Basis;
use super::hessenberg::Hessenberg;
use super::solver::solver;
use crate::driver::{Cycle, Progress};
use crate::error::Result;
use crate::scalars::epsilon;
use crate::vectors::axpby;
use crate::work::Work;
use crate::{Breakdown, SolverOptions};

/// Generalized minimal residuals for any square A, real or complex, restarted after
/// [`SolverOptions::with_restart`] steps, with the preconditioner on the right: AM⁻¹u = b, x = M⁻¹u. The residual that
/// it makes least is thus that of the system, without the preconditioner.
///
/// It keeps a vector for each step until a restart, and one. A step makes the new vector orthogonal to them, by
/// Gram–Schmidt twice, and waits for the device once.
///
/// Sources: Saad and Schultz, SIAM J. Sci. Stat. Comput. 7, 1986; Saad, *Iterative Methods for Sparse Linear Systems*,
/// 2003, section 9.3.2.
pub struct Gmres<'a, V: Scalar> {
    work: Work<'a, V>,
    options: SolverOptions,
    cycle: Arnoldi<V>,
}

/// Flexible [`Gmres`]: the preconditioner may change from step to step, such as when it is an iterative method itself.
/// It keeps two vectors for each step.
///
/// Source: Saad, SIAM J. Sci. Comput. 14, 1993.
pub struct Fgmres<'a, V: Scalar> {
    work: Work<'a, V>,
    options: SolverOptions,
    cycle: Arnoldi<V>,
}

solver!(Gmres, "GMRES", |work, options: &SolverOptions| Arnoldi::new(work, options.restart, false));
solver!(
    Fgmres,
    "FGMRES",
    |work, options: &SolverOptions| Arnoldi::new(work, options.restart, true),
    |_: &SolverOptions| true
);

/// The vectors of the Arnoldi process.
struct Arnoldi<V: Scalar> {
    /// Orthonormal vectors.
    basis: Basis<V>,
    /// The same, preconditioned, of a flexible method.
    preconditioned: Option<Basis<V>>,
    w: DeviceVec<V>,
    z: DeviceVec<V>,
    /// Number of steps until a restart.
    steps: usize,
}

impl<V: Scalar> Arnoldi<V> {
    fn new(work: &Work<V>, restart: usize, is_flexible: bool) -> Result<Self> {
        // The space has no more dimensions.
        let steps = restart.min(work.global_len()?).max(1);
        let basis = Basis::new(work, steps)?;
        let preconditioned = if is_flexible { Some(Basis::new(work, steps)?) } else { None };
        Ok(Self { basis, preconditioned, w: work.zeros()?, z: work.zeros()?, steps })
    }

    /// Extends the space by a vector. Returns how the steps end, if they do.
    fn step(
        &mut self,
        work: &mut Work<V>,
        problem: &mut Hessenberg,
        (step, scale): (usize, f64),
        progress: &mut Progress,
    ) -> Result<Option<End>> {
        let Self { basis, preconditioned, w, z, steps } = self;
        basis.with(step, |vector| work.precondition(vector, z))?;
        work.apply(z, w)?;
        if let Some(preconditioned) = preconditioned {
            preconditioned.write(step, |vector| Ok(vector.copy_from(z)?))?;
        }
        let column = basis.orthogonalize(work, step + 1, w)?;
        // Nothing but rounding is left of w: the space holds all further vectors.
        let rounding = 16.0 * epsilon::<V>() * column.before;
        let is_invariant = column.norm <= rounding;
        let below = if is_invariant { 0.0 } else { column.norm };
        let is_singular = !problem.push(column.coefficients, below, rounding);
        if progress.push(scale * problem.residual()) {
            return Ok(Some(End::Update));
        }
        if is_singular {
            return Ok(Some(End::Singular));
        }
        if is_invariant || step + 1 == *steps {
            return Ok(Some(End::Update));
        }
        basis.set(step + 1, w, column.norm)?;
        Ok(None)
    }

    /// Adds the correction to x.
    fn update(
        &mut self,
        work: &mut Work<V>,
        (scale, y): (f64, &[Complex<f64>]),
        x: &mut DeviceSlice<V>,
    ) -> Result<()> {
        if let Some(preconditioned) = &mut self.preconditioned {
            return preconditioned.add(scale, y, x);
        }
        self.w.set_zero()?;
        self.basis.add(1.0, y, &mut self.w)?;
        work.precondition(&self.w, &mut self.z)?;
        axpby(scale, &self.z, 1.0, x)
    }
}

/// How the steps until a restart end.
enum End {
    Update,
    Singular,
}

impl<V: Scalar> Cycle<V> for Arnoldi<V> {
    fn run(
        &mut self,
        work: &mut Work<V>,
        x: &mut DeviceSlice<V>,
        r: &mut DeviceSlice<V>,
        progress: &mut Progress,
    ) -> Result<Option<Breakdown>> {
        let scale = progress.residual();
        self.basis.write(0, |vector| Ok(vector.copy_from(r)?))?;
        let mut problem = Hessenberg::new(1.0);
        let mut step = 0;
        let end = loop {
            match self.step(work, &mut problem, (step, scale), progress)? {
                Some(end) => break end,
                None => step += 1,
            }
        };
        self.update(work, (scale, &problem.solve()), x)?;
        Ok(matches!(end, End::Singular).then_some(Breakdown::Singular))
    }
}
