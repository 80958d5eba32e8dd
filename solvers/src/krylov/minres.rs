//! Minimal residuals.

use evenpath::{DeviceSlice, DeviceVec, Scalar};

use super::solver::solver;
use crate::driver::{Cycle, Progress};
use crate::error::Result;
use crate::scalars::epsilon;
use crate::vectors::{axpby, divide};
use crate::work::Work;
use crate::{Breakdown, SolverOptions};

/// Minimal residuals for symmetric A, also indefinite, and symmetric positive definite M; complex ones are Hermitian.
///
/// The residual is least in the norm of M⁻¹. Its 2-norm, by which a solve ends, is that of a vector updated in each step.
/// Singular A are allowed: x is a solution if there is one. Otherwise the steps end with
/// [`Breakdown::Singular`], and the residual is least, to the precision of the values.
///
/// Sources: Paige and Saunders, SIAM J. Numer. Anal. 12, 1975; Elman, Silvester and Wathen, *Finite Elements and Fast
/// Iterative Solvers*, 2005, algorithm 6.1.
pub struct Minres<'a, V: Scalar> {
    work: Work<'a, V>,
    options: SolverOptions,
    cycle: Vectors<V>,
}

struct Vectors<V: Scalar> {
    /// Vectors of the Lanczos process, times their γ: the next to last, and the last.
    v: [DeviceVec<V>; 2],
    /// The last one, preconditioned.
    z: DeviceVec<V>,
    /// The product with it, and then the next one, preconditioned.
    az: DeviceVec<V>,
    ar: DeviceVec<V>,
    /// The last two directions.
    w: [DeviceVec<V>; 2],
}

solver!(Minres, "MINRES", Vectors::new);

/// Numbers of the recurrences. The names are those of Elman, Silvester and Wathen.
struct Recurrence {
    gamma: [f64; 2],
    /// The residual's norm in M⁻¹, with a sign.
    eta: f64,
    cosine: [f64; 2],
    sine: [f64; 2],
    /// The largest number of the tridiagonal matrix.
    largest: f64,
}

/// Numbers of one step.
struct Step {
    alpha: [f64; 4],
    cosine: f64,
    sine: f64,
    gamma: f64,
}

impl Recurrence {
    fn new(gamma: f64) -> Self {
        Self { gamma: [1.0, gamma], eta: gamma, cosine: [1.0; 2], sine: [0.0; 2], largest: 0.0 }
    }

    /// The next rotation, from the next column of the tridiagonal matrix.
    fn step(&mut self, delta: f64, gamma: f64) -> Step {
        let [c0, c1] = self.cosine;
        let [s0, s1] = self.sine;
        let alpha0 = c1 * delta - c0 * s1 * self.gamma[1];
        let alpha1 = alpha0.hypot(gamma);
        let alpha2 = s1 * delta + c0 * c1 * self.gamma[1];
        let alpha3 = s0 * self.gamma[1];
        self.largest = self.largest.max(delta.abs()).max(gamma);
        Step { alpha: [alpha0, alpha1, alpha2, alpha3], cosine: alpha0 / alpha1, sine: gamma / alpha1, gamma }
    }

    /// Goes on to the next step.
    fn advance(&mut self, step: &Step) {
        self.gamma = [self.gamma[1], step.gamma];
        self.cosine = [self.cosine[1], step.cosine];
        self.sine = [self.sine[1], step.sine];
        self.eta *= -step.sine;
    }
}

impl<V: Scalar> Vectors<V> {
    fn new(work: &Work<V>, _: &SolverOptions) -> Result<Self> {
        Ok(Self {
            v: [work.zeros()?, work.zeros()?],
            z: work.zeros()?,
            az: work.zeros()?,
            ar: work.zeros()?,
            w: [work.zeros()?, work.zeros()?],
        })
    }

    /// The next vector of the Lanczos process. Returns the δ and the square of the γ of the step.
    fn lanczos(&mut self, work: &mut Work<V>, gamma: [f64; 2], is_first: bool) -> Result<[f64; 2]> {
        let Self { v: [v0, v1], z, az, .. } = self;
        divide(z, gamma[1])?;
        work.apply(z, az)?;
        let delta = work.dot(az, z)?;
        let previous = if is_first { 0.0 } else { -gamma[1] / gamma[0] };
        axpby(1.0, az, previous, v0)?;
        axpby(-delta / gamma[1], v1, 1.0, v0)?;
        std::mem::swap(v0, v1);
        work.precondition(v1, az)?;
        Ok([delta, work.dot(az, v1)?])
    }

    /// Returns whether ‖Ar‖, in the norm of M⁻¹, is at most a few roundings of `largest`, ‖A‖ times the first ‖r‖: then no x
    /// is known to have a smaller residual.
    fn is_least(&mut self, work: &mut Work<V>, r: &DeviceSlice<V>, largest: f64) -> Result<bool> {
        let Self { v, az, ar, .. } = self;
        work.precondition(r, az)?;
        work.apply(az, ar)?;
        work.precondition(ar, az)?;
        let square = work.dot(ar, az)?;
        work.precondition(&v[1], az)?; // as before
        Ok(square.abs().sqrt() <= 16.0 * epsilon::<V>() * largest)
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
        self.v[1].copy_from(r)?;
        work.precondition(r, &mut self.z)?;
        let square = work.dot(r, &self.z)?;
        if square <= 0.0 {
            return Ok(Some(Breakdown::IndefinitePreconditioner));
        }
        let first = square.sqrt();
        let mut numbers = Recurrence::new(first);
        for at in 0.. {
            let [delta, square] = self.lanczos(work, numbers.gamma, at == 0)?;
            if square < 0.0 {
                return Ok(Some(Breakdown::IndefinitePreconditioner));
            }
            let step = numbers.step(delta, square.sqrt());
            // ‖Ar‖ is this part of ‖A‖·‖r‖, but for the rounding of γ.
            let is_small = step.alpha[1] <= epsilon::<V>().sqrt() * numbers.largest;
            if is_small && self.is_least(work, r, numbers.largest * first)? {
                progress.push(progress.last());
                return Ok(Some(Breakdown::Singular));
            }
            // w = (z − α₃w₀ − α₂w₁) / α₁, in the place of w₀.
            let [w0, w1] = &mut self.w;
            let [_, alpha1, alpha2, alpha3] = step.alpha;
            axpby(1.0 / alpha1, &self.z, if at < 2 { 0.0 } else { -alpha3 / alpha1 }, w0)?;
            if at > 0 {
                axpby(-alpha2 / alpha1, w1, 1.0, w0)?;
            }
            std::mem::swap(w0, w1);
            axpby(scale * step.cosine * numbers.eta, w1, 1.0, x)?;
            numbers.advance(&step);
            // r = s²r + (cη/γ)v; nothing is left of v if γ is zero.
            let part = if step.gamma > 0.0 { step.cosine * numbers.eta / step.gamma } else { 0.0 };
            axpby(part, &self.v[1], step.sine * step.sine, r)?;
            if progress.push(scale * work.norm2(r)?) || step.gamma == 0.0 {
                break;
            }
            std::mem::swap(&mut self.z, &mut self.az);
        }
        Ok(None)
    }
}
