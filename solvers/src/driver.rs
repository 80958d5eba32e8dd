//! Common part of all methods: from a true residual to the next, until the system is solved.

use std::time::Instant;

use evenpath::{DeviceSlice, DeviceVec, Scalar};

use crate::error::{Result, check_len};
use crate::vectors::divide;
use crate::work::Work;
use crate::{Breakdown, Outcome, Report, SolverOptions, Times};

/// A method, as steps between two true residuals.
pub(crate) trait Cycle<V: Scalar> {
    /// Improves x, from its residual, which may be overwritten. `r` is that residual divided by its norm, which is
    /// [`Progress::residual`], so that no square is out of range. Ends when [`Progress::push`] says so, or earlier
    /// at a restart.
    fn run(
        &mut self,
        work: &mut Work<V>,
        x: &mut DeviceSlice<V>,
        r: &mut DeviceSlice<V>,
        progress: &mut Progress,
    ) -> Result<Option<Breakdown>>;
}

impl<V: Scalar, C: Cycle<V> + ?Sized> Cycle<V> for Box<C> {
    fn run(
        &mut self,
        work: &mut Work<V>,
        x: &mut DeviceSlice<V>,
        r: &mut DeviceSlice<V>,
        progress: &mut Progress,
    ) -> Result<Option<Breakdown>> {
        (**self).run(work, x, r, progress)
    }
}

/// Residuals so far, and when to stop.
pub(crate) struct Progress {
    /// The norm of the residual at which the system is solved.
    limit: f64,
    max_steps: usize,
    stagnation_steps: usize,
    /// Estimated norms, before the first step and after each.
    history: Vec<f64>,
    best: f64,
    best_step: usize,
    /// The norm of the last true residual.
    residual: f64,
}

impl Progress {
    pub(crate) fn new(limit: f64, options: &SolverOptions, first: f64) -> Self {
        let SolverOptions { max_steps, stagnation_steps, .. } = *options;
        Self {
            limit,
            max_steps,
            stagnation_steps,
            history: vec![first],
            best: first,
            best_step: 0,
            residual: first,
        }
    }

    /// Number of steps so far.
    pub(crate) fn steps(&self) -> usize {
        self.history.len() - 1
    }

    /// The estimate after the last step.
    pub(crate) fn last(&self) -> f64 {
        self.history[self.steps()]
    }

    /// Number of steps until the limit.
    pub(crate) fn steps_left(&self) -> usize {
        self.max_steps - self.steps()
    }

    /// The norm of the residual at which the system is solved.
    pub(crate) fn limit(&self) -> f64 {
        self.limit
    }

    /// The norm of the residual at the start of the cycle, which was computed from x.
    pub(crate) fn residual(&self) -> f64 {
        self.residual
    }

    /// Records the residual after a step. Returns whether the steps end here.
    pub(crate) fn push(&mut self, residual: f64) -> bool {
        self.history.push(residual);
        if residual < 0.999 * self.best {
            (self.best, self.best_step) = (residual, self.steps());
        }
        residual.is_nan() || residual <= self.limit || self.steps_left() == 0 || self.is_stagnant()
    }

    fn is_stagnant(&self) -> bool {
        self.steps() >= self.best_step + self.stagnation_steps
    }

    /// The outcome, if the steps end at the true residual.
    pub(crate) fn ended(&self) -> Option<Outcome> {
        if !self.residual.is_finite() {
            Some(Outcome::NotANumber)
        } else if self.residual <= self.limit {
            Some(Outcome::Converged)
        } else if self.is_stagnant() {
            Some(Outcome::Stagnation)
        } else if self.steps_left() == 0 {
            Some(Outcome::MaxSteps)
        } else {
            None
        }
    }

    /// Takes the true residual after a cycle that began after `steps` steps. Returns the outcome, if the cycle shows it.
    pub(crate) fn conclude(
        &mut self,
        breakdown: Option<Breakdown>,
        steps: usize,
        residual: f64,
    ) -> Option<Outcome> {
        let before = std::mem::replace(&mut self.residual, residual);
        if residual <= self.limit {
            return None;
        }
        // The estimate was met, but x does not get better: rounding forbids it.
        let is_rounding = self.last() <= self.limit && residual > 0.5 * before;
        match breakdown {
            Some(breakdown) => Some(Outcome::Breakdown(breakdown)),
            None if is_rounding || self.steps() == steps && !residual.is_nan() => Some(Outcome::Stagnation),
            None => None,
        }
    }

    /// The report of a solve that ended, with residuals relative to b.
    pub(crate) fn report(self, method: &'static str, outcome: Outcome, norm_b: f64, times: Times) -> Report {
        let scale = if norm_b > 0.0 { norm_b } else { 1.0 };
        let history: Vec<f64> = self.history.iter().map(|residual| residual / scale).collect();
        Report { method, outcome, steps: history.len() - 1, residual: self.residual / scale, history, times }
    }
}

/// Solves Ax = b by a method with this name, from the x that is there.
pub(crate) fn solve<V: Scalar>(
    method: &'static str,
    cycle: &mut dyn Cycle<V>,
    work: &mut Work<V>,
    (b, x): (&DeviceSlice<V>, &mut DeviceSlice<V>),
    options: &SolverOptions,
) -> Result<Report> {
    options.check()?;
    check_len("b", b.len(), work.len())?;
    check_len("x", x.len(), work.len())?;
    work.set_profiled(options.is_profiled);
    let start = Instant::now();
    let norm_b = work.norm2(b)?;
    if norm_b == 0.0 {
        x.set_zero()?;
    }
    let limit = options.limit(norm_b);
    let mut r: DeviceVec<V> = work.zeros()?;
    let mut progress = Progress::new(limit, options, work.residual(b, x, &mut r)?);
    let outcome = loop {
        if let Some(outcome) = progress.ended() {
            break outcome;
        }
        let steps = progress.steps();
        divide(&mut r, progress.residual())?;
        let breakdown = cycle.run(work, x, &mut r, &mut progress)?;
        let residual = work.residual(b, x, &mut r)?;
        if let Some(outcome) = progress.conclude(breakdown, steps, residual) {
            break outcome;
        }
    };
    let times = work.times(start)?;
    Ok(progress.report(method, outcome, norm_b, times))
}
