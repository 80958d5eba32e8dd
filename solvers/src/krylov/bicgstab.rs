//! Stabilized biconjugate gradients.

use evenpath::{Complex, DeviceSlice, DeviceVec, Scalar};

use super::solver::solver;
use crate::driver::{Cycle, Progress};
use crate::error::Result;
use crate::number::{magnitude, quotient};
use crate::scalars::{Scalars, epsilon};
use crate::vectors::{axpby, axpby_complex, divide};
use crate::work::Work;
use crate::{Breakdown, SolverOptions};

/// Stabilized biconjugate gradients for any square A, real or complex, with the preconditioner on the right.
///
/// A step has two products with A. After a breakdown it goes on once with another shadow residual, r/‖r‖ + t/‖t‖ for
/// t = AM⁻¹r. Before the next it gives up. A step waits for the device three times.
///
/// Source: van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992.
pub struct BiCgStab<'a, V: Scalar> {
    work: Work<'a, V>,
    options: SolverOptions,
    cycle: Vectors<V>,
}

struct Vectors<V: Scalar> {
    /// The shadow residual.
    shadow: DeviceVec<V>,
    p: DeviceVec<V>,
    /// p and later r, preconditioned.
    z: DeviceVec<V>,
    /// AM⁻¹p.
    v: DeviceVec<V>,
    /// AM⁻¹r.
    t: DeviceVec<V>,
    scalars: Scalars<V>,
}

solver!(BiCgStab, "BiCGSTAB", Vectors::new);

/// How a step ends.
enum Step {
    /// With these α and ω, and this ρ of the next.
    Done {
        alpha: Complex<f64>,
        omega: Complex<f64>,
        rho: Complex<f64>,
    },
    Broken(Breakdown),
    Ended,
}

impl<V: Scalar> Vectors<V> {
    fn new(work: &Work<V>, _: &SolverOptions) -> Result<Self> {
        Ok(Self {
            shadow: work.zeros()?,
            p: work.zeros()?,
            z: work.zeros()?,
            v: work.zeros()?,
            t: work.zeros()?,
            scalars: Scalars::new(work.device(), 3)?,
        })
    }

    /// Does a step. `r` and x belong together after it, also if it breaks down.
    fn step(
        &mut self,
        work: &mut Work<V>,
        (x, r): (&mut DeviceSlice<V>, &mut DeviceSlice<V>),
        (rho, norm_shadow, scale): (Complex<f64>, f64, f64),
        progress: &mut Progress,
    ) -> Result<Step> {
        let Self { shadow, p, z, v, t, scalars } = self;
        let is_zero = |product: Complex<f64>, x: f64, y: f64| magnitude(product) <= epsilon::<V>() * x * y;
        let one = Complex::new(1.0, 0.0);
        work.precondition(p, z)?;
        work.apply(z, v)?;
        let mut batch = scalars.batch();
        batch.dot(shadow, v)?;
        batch.norm2(v)?;
        let [shadow_v, norm_v] = batch.read_complex(work.operator)?;
        if is_zero(shadow_v, norm_shadow, norm_v.re) {
            return Ok(Step::Broken(Breakdown::ZeroProduct));
        }
        let alpha = quotient(rho, shadow_v);
        axpby_complex(scale * alpha, z, one, x)?;
        axpby_complex(-alpha, v, one, r)?;

        work.precondition(r, z)?;
        work.apply(z, t)?;
        let mut batch = scalars.batch();
        batch.dot(t, r)?;
        batch.norm2(t)?;
        batch.norm2(r)?;
        let [tr, norm_t, norm_r] = batch.read_complex(work.operator)?;
        let (norm_t, norm_r) = (norm_t.re, norm_r.re);
        if is_zero(tr, norm_t, norm_r) {
            let is_end = progress.push(scale * norm_r);
            return Ok(if is_end { Step::Ended } else { Step::Broken(Breakdown::ZeroOmega) });
        }
        let omega = tr / norm_t / norm_t; // the square may be out of range
        axpby_complex(scale * omega, z, one, x)?;
        axpby_complex(-omega, t, one, r)?;
        let mut batch = scalars.batch();
        batch.dot(shadow, r)?;
        batch.norm2(r)?;
        let [rho, norm_r] = batch.read_complex(work.operator)?;
        if progress.push(scale * norm_r.re) {
            return Ok(Step::Ended);
        }
        if is_zero(rho, norm_shadow, norm_r.re) {
            return Ok(Step::Broken(Breakdown::ZeroProduct));
        }
        Ok(Step::Done { alpha, omega, rho })
    }

    /// Begins again with another shadow residual. Returns its norm and its inner product with r.
    fn change_shadow(
        &mut self,
        work: &mut Work<V>,
        r: &DeviceSlice<V>,
    ) -> Result<Result<(f64, Complex<f64>), Breakdown>> {
        let Self { shadow, p, z, t, scalars, .. } = self;
        work.precondition(r, z)?;
        work.apply(z, t)?;
        let mut batch = scalars.batch();
        batch.norm2(r)?;
        batch.norm2(t)?;
        let [norm_r, norm_t] = batch.read(work.operator)?;
        if norm_t == 0.0 {
            return Ok(Err(Breakdown::Singular));
        }
        p.copy_from(r)?;
        shadow.copy_from(r)?;
        divide(shadow, norm_r)?;
        divide(t, norm_t)?;
        axpby(1.0, t, 1.0, shadow)?;
        let mut batch = scalars.batch();
        batch.norm2(shadow)?;
        batch.dot(shadow, r)?;
        let [norm_shadow, rho] = batch.read_complex(work.operator)?;
        let is_zero = magnitude(rho) <= epsilon::<V>() * norm_shadow.re * norm_r;
        Ok(if is_zero { Err(Breakdown::ZeroProduct) } else { Ok((norm_shadow.re, rho)) })
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
        self.shadow.copy_from(r)?;
        self.p.copy_from(r)?;
        let (mut norm_shadow, mut rho) = (1.0, Complex::new(work.dot(&self.shadow, r)?, 0.0));
        let mut is_last_shadow = false;
        loop {
            match self.step(work, (x, r), (rho, norm_shadow, scale), progress)? {
                Step::Ended => return Ok(None),
                Step::Broken(breakdown) if is_last_shadow => return Ok(Some(breakdown)),
                Step::Broken(_) => match self.change_shadow(work, r)? {
                    Ok(changed) => {
                        (norm_shadow, rho) = changed;
                        is_last_shadow = true;
                    }
                    Err(breakdown) => return Ok(Some(breakdown)),
                },
                Step::Done { alpha, omega, rho: next } => {
                    // p = r + β(p − ωv)
                    let (one, beta) = (Complex::new(1.0, 0.0), quotient(next, rho) * quotient(alpha, omega));
                    axpby_complex(-omega, &self.v, one, &mut self.p)?;
                    axpby_complex(one, r, beta, &mut self.p)?;
                    rho = next;
                }
            }
        }
    }
}
