//! The choice of a method by timing.

use std::time::Instant;

use super::build;
use super::method::SpmvMethod;
use super::methods;
use super::options::SpmvOptions;
use super::plan::SpmvPlan;
use super::schedule::Choice;
use crate::device::{DeviceError, DeviceVec};
use crate::format::DeviceCsr;
use crate::op::product::SpmvCall;
use crate::operand::OpError;
use crate::{Offset, Scalar};

/// Rounds in which all methods take turns.
const ROUNDS: usize = 5;
/// Milliseconds of a method in a round, and the most runs for that.
const ROUND_MS: f64 = 0.5;
const MOST_RUNS: f64 = 100.0;
/// A method whose first run takes this many times the shortest is not measured further.
const HOPELESS: f64 = 3.0;
/// The plan's own choice stays unless another method takes at most this part of its time.
const GAIN: f64 = 0.98;

/// Measurements of [`SpmvPlan::tune`].
///
/// ```
/// use evenpath::generate::{Kind, generate};
/// use evenpath::spmv::SpmvOptions;
/// use evenpath::{Csr, Device};
///
/// let a: Csr<f64> = generate(Kind::Fem { rows: 500 }, 1)?;
/// let mut plan = Device::best()?.upload(&a)?.plan_spmv(SpmvOptions::default())?;
/// let tuning = plan.tune()?;
/// for timing in &tuning.timings {
///     println!("{}: {:.4} ms", timing.method, timing.ms);
/// }
/// let chosen = plan.info()?.method;
/// assert!(tuning.timings.iter().any(|timing| timing.method == chosen));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpmvTuning {
    /// The method that the plan had.
    pub before: SpmvMethod,
    /// The methods that could be measured, the fastest first.
    pub timings: Vec<SpmvTiming>,
    /// Milliseconds that tuning took the host.
    pub cost_ms: f64,
}

/// The time of one method.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SpmvTiming {
    /// The method.
    pub method: SpmvMethod,
    /// Milliseconds of a run: the median of some rounds, or the first run if that was far slower than others'.
    pub ms: f64,
    /// Bytes of device memory that the method holds beside the matrix.
    pub workspace_bytes: u64,
}

impl SpmvTuning {
    /// The runs after which tuning has paid for itself; `None` if the plan kept its method.
    pub fn pays_after(&self) -> Option<u64> {
        let before = self.timings.iter().find(|timing| timing.method == self.before)?.ms;
        let gain = before - self.timings.first()?.ms;
        (self.timings.first()?.ms <= GAIN * before && gain > 0.0).then(|| (self.cost_ms / gain).ceil() as u64)
    }
}

/// A method that takes part.
struct Contender<V: Scalar, O: Offset> {
    choice: Choice<V, O>,
    first_ms: f64,
    /// Of the rounds; none if it is not measured further.
    round_ms: Vec<f64>,
}

/// Vectors of zeros that the methods multiply.
struct Trial<'m, V: Scalar, O: Offset> {
    matrix: &'m DeviceCsr<V, O>,
    x: DeviceVec<V>,
    y: DeviceVec<V>,
}

impl<V: Scalar, O: Offset> Trial<'_, V, O> {
    /// Milliseconds of a run.
    fn time(&mut self, choice: &Choice<V, O>, runs: u32) -> Result<f64, OpError> {
        let device = self.matrix.device();
        let start = device.record()?;
        for _ in 0..runs {
            choice.schedule.run(SpmvCall::new(self.matrix, (V::ONE, &self.x), (V::ZERO, &mut self.y))?)?;
        }
        Ok(device.record()?.elapsed_since(&start)? / f64::from(runs))
    }
}

impl<V: Scalar, O: Offset> SpmvPlan<V, O> {
    /// Times the methods that the matrix and the device allow, with vectors of its own, and takes the fastest. Methods that keep
    /// another form of the matrix take part if [`SpmvOptions::may_copy`] says so. Worthwhile for a matrix that is multiplied
    /// thousands of times: [`SpmvTuning::pays_after`].
    ///
    /// Timing decides which method is fastest, so the bits of results may differ between plans that are tuned.
    /// [`SpmvPlanInfo::options`](super::SpmvPlanInfo::options) asks for what this plan has.
    ///
    /// # Errors
    ///
    /// If there is no memory for an x and a y, this thread captures a graph, or the device was lost; then the plan stays as it was.
    /// Methods for which there is no memory do not take part.
    pub fn tune(&mut self) -> Result<SpmvTuning, OpError> {
        let begin = Instant::now();
        let device = self.matrix.device();
        device.refuse_in_graph("tuning waits for what it times")?;
        let (x, y) = (device.zeros(self.matrix.ncols())?, device.zeros(self.matrix.nrows())?);
        let mut trial = Trial { matrix: &self.matrix, x, y };
        let mut contenders = Vec::new();
        for options in self.contending() {
            if let Some(choice) = built(build::build(&self.matrix, options))? {
                // The first run may compile.
                trial.time(&choice, 1)?;
                let first_ms = trial.time(&choice, 1)?;
                contenders.push(Contender { choice, first_ms, round_ms: Vec::new() });
            }
        }
        let shortest = contenders.iter().map(|one| one.first_ms).fold(f64::INFINITY, f64::min);
        for _ in 0..ROUNDS {
            for Contender { choice, first_ms, round_ms } in &mut contenders {
                if *first_ms <= HOPELESS * shortest || choice.method == self.choice.method {
                    let runs = (ROUND_MS / first_ms.max(1e-6)).ceil().clamp(1.0, MOST_RUNS);
                    round_ms.push(trial.time(choice, runs as u32)?);
                }
            }
        }
        Ok(self.take_fastest(contenders, begin))
    }

    /// Takes the fastest; what was measured.
    fn take_fastest(&mut self, mut contenders: Vec<Contender<V, O>>, begin: Instant) -> SpmvTuning {
        contenders.sort_by(|a, b| a.ms().total_cmp(&b.ms()));
        let timings: Vec<SpmvTiming> = contenders.iter().map(Contender::timing).collect();
        let before = self.choice.method;
        let own_ms =
            timings.iter().find(|timing| timing.method == before).map_or(f64::INFINITY, |own| own.ms);
        if let Some(fastest) = contenders.into_iter().next()
            && fastest.ms() <= GAIN * own_ms
        {
            let reason = format!("the fastest of {} that were timed", timings.len());
            self.choice = Choice { reason, ..fastest.choice };
        }
        SpmvTuning { before, timings, cost_ms: begin.elapsed().as_secs_f64() * 1e3 }
    }

    /// The options of the methods that take part: the plan's own first.
    fn contending(&self) -> impl Iterator<Item = SpmvOptions> {
        let own = self.choice.method;
        let (kind, may_copy) = (self.matrix.device().kind(), self.may_copy);
        let own_options = SpmvOptions { method: own, may_copy };
        let others = SpmvMethod::ALL.into_iter().filter(move |&method| {
            let is_allowed = may_copy || !method.copies();
            let is_other = method != SpmvMethod::Auto && method != own.without_parameters();
            is_other && method.runs_on(kind) && is_allowed && methods::find::<V, O>(method).is_some()
        });
        let others = others.map(|method| SpmvOptions::default().with_method(method));
        [own_options].into_iter().chain(others)
    }
}

impl<V: Scalar, O: Offset> Contender<V, O> {
    fn ms(&self) -> f64 {
        let mut rounds = self.round_ms.clone();
        rounds.sort_by(f64::total_cmp);
        rounds.get(rounds.len() / 2).copied().unwrap_or(self.first_ms)
    }

    fn timing(&self) -> SpmvTiming {
        let workspace_bytes = self.choice.schedule.shape().workspace_bytes;
        SpmvTiming { method: self.choice.method, ms: self.ms(), workspace_bytes }
    }
}

/// A method that can be built; `None` if rows or the matrix are too long for it, or it takes more memory or blocks than there are.
fn built<V: Scalar, O: Offset>(
    choice: Result<Choice<V, O>, OpError>,
) -> Result<Option<Choice<V, O>>, OpError> {
    match choice {
        Ok(choice) => Ok(Some(choice)),
        Err(
            OpError::RowTooLong { .. }
            | OpError::TooLong { .. }
            | OpError::Device(
                DeviceError::OutOfMemory { .. }
                | DeviceError::MemoryLimit { .. }
                | DeviceError::Launch { .. },
            ),
        ) => Ok(None),
        Err(error) => Err(error),
    }
}
