//! Conjugate gradients with one wait per step.

use evenpath::{DeviceSlice, DeviceVec, Scalar};

use super::solver::solver;
use crate::driver::{Cycle, Progress};
use crate::error::Result;
use crate::scalars::Scalars;
use crate::vectors::axpby;
use crate::work::Work;
use crate::{Breakdown, SolverOptions};

/// Pipelined conjugate gradients, for symmetric positive definite A and M, or Hermitian ones of complex numbers: the inner
/// products of a step are computed beside the next product with A, and the host reads them at once. Over many ranks they are
/// one sum.
///
/// It has four more vectors than [`Cg`](crate::Cg), and updates them in each step. Their rounding errors grow, so they are
/// computed anew every 50 steps, with three more products.
///
/// Source: Ghysels and Vanroose, Parallel Computing 40, 2014, algorithm 4.
pub struct PipelinedCg<'a, V: Scalar> {
    work: Work<'a, V>,
    options: SolverOptions,
    cycle: Vectors<V>,
}

/// Vectors as in the publication; each is M⁻¹ or A times the one before: r, u, w, m, n and p, s, q, z.
struct Vectors<V: Scalar> {
    u: DeviceVec<V>,
    w: DeviceVec<V>,
    m: DeviceVec<V>,
    n: DeviceVec<V>,
    p: DeviceVec<V>,
    s: DeviceVec<V>,
    q: DeviceVec<V>,
    z: DeviceVec<V>,
    scalars: Scalars<V>,
}

/// Number of steps after which vectors are computed anew.
const REPLACEMENT_STEPS: usize = 50;

solver!(PipelinedCg, "pipelined CG", Vectors::new);

impl<V: Scalar> Vectors<V> {
    fn new(work: &Work<V>, _: &SolverOptions) -> Result<Self> {
        Ok(Self {
            u: work.zeros()?,
            w: work.zeros()?,
            m: work.zeros()?,
            n: work.zeros()?,
            p: work.zeros()?,
            s: work.zeros()?,
            q: work.zeros()?,
            z: work.zeros()?,
            scalars: Scalars::new(work.device(), 3)?,
        })
    }

    /// Returns rᵀu, wᵀu and ‖r‖, and computes m and n meanwhile.
    fn products(&mut self, work: &mut Work<V>, r: &DeviceSlice<V>) -> Result<[f64; 3]> {
        let Self { u, w, m, n, scalars, .. } = self;
        let mut batch = scalars.batch();
        batch.dot(r, u)?;
        batch.dot(w, u)?;
        batch.norm2(r)?;
        work.precondition(w, m)?;
        work.apply(m, n)?;
        batch.read(work.operator)
    }

    /// Updates all vectors.
    fn update(&mut self, r: &mut DeviceSlice<V>, alpha: f64, beta: f64) -> Result<()> {
        let Self { u, w, m, n, p, s, q, z, .. } = self;
        axpby(1.0, n, beta, z)?;
        axpby(1.0, m, beta, q)?;
        axpby(1.0, w, beta, s)?;
        axpby(1.0, u, beta, p)?;
        axpby(-alpha, s, 1.0, r)?;
        axpby(-alpha, q, 1.0, u)?;
        axpby(-alpha, z, 1.0, w)
    }

    /// Computes vectors anew from r and p.
    fn replace(&mut self, work: &mut Work<V>, r: &DeviceSlice<V>) -> Result<()> {
        let Self { u, w, p, s, q, z, .. } = self;
        work.precondition(r, u)?;
        work.apply(u, w)?;
        work.apply(p, s)?;
        work.precondition(s, q)?;
        work.apply(q, z)
    }

    /// Returns what is not positive definite after rᵀu or pᵀAp, which are not computed directly, were not positive. `None`
    /// if it was rounding: then the method restarts.
    fn diagnose(&mut self, work: &mut Work<V>, r: &DeviceSlice<V>, beta: f64) -> Result<Option<Breakdown>> {
        let Self { u, p, s, .. } = self;
        work.precondition(r, u)?;
        if work.dot(r, u)? <= 0.0 {
            return Ok(Some(Breakdown::IndefinitePreconditioner));
        }
        axpby(1.0, u, beta, p)?;
        work.apply(p, s)?;
        Ok((work.dot(p, s)? <= 0.0).then_some(Breakdown::IndefiniteMatrix))
    }
}

impl<V: Scalar> Cycle<V> for Vectors<V> {
    fn run(
        &mut self,
        work: &mut Work<V>,
        x: &mut DeviceSlice<V>,
        r: &mut DeviceSlice<V>,
        progress: &mut Progress,
    ) -> Result<Option<Breakdown>> {
        let scale = progress.residual();
        work.precondition(r, &mut self.u)?;
        work.apply(&self.u, &mut self.w)?;
        let mut last: Option<(f64, f64)> = None;
        for at in 0.. {
            if at > 0 && at % REPLACEMENT_STEPS == 0 {
                self.replace(work, r)?;
            }
            let [gamma, delta, norm] = self.products(work, r)?;
            if at > 0 && progress.push(scale * norm) {
                break;
            }
            let (beta, curvature) = match last {
                None => (0.0, delta),
                Some((last_gamma, alpha)) => {
                    let beta = gamma / last_gamma;
                    (beta, delta - beta * gamma / alpha)
                }
            };
            if gamma <= 0.0 || curvature <= 0.0 {
                return self.diagnose(work, r, if gamma > 0.0 { beta } else { 0.0 });
            }
            let alpha = gamma / curvature;
            self.update(r, alpha, beta)?;
            axpby(scale * alpha, &self.p, 1.0, x)?;
            last = Some((gamma, alpha));
        }
        Ok(None)
    }
}
