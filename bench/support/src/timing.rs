//! Timing of runs: warmed up, in samples of many runs if they are short, contenders in turn, and again if the times
//! are spread widely.
//!
//! Everything here is about a function that makes some runs and returns their milliseconds, so that the rules can be tested
//! with scripted times.

use std::ops::Deref;

use crate::statistics::{MOST_ROUNDS, WIDE, spread};

/// The milliseconds that a sample should last: runs that are shorter are timed together.
pub const SAMPLE_MS: f64 = 0.5;
/// The most runs of a sample.
const MOST_RUNS: usize = 1000;
/// A contender is warm when two successive samples differ by at most this fraction of the longer one.
pub const WARM: f64 = 0.1;
/// Samples after which a contender counts as warm anyway. Before a single sample, there is one.
const MOST_WARM_UPS: usize = 12;

/// Makes this many successive runs and returns their milliseconds, all together.
pub type Timed<'t, E> = Box<dyn FnMut(usize) -> Result<f64, E> + 't>;

/// The rules of a measurement: the number of samples, and a budget of time for them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repetitions {
    most: usize,
    budget_ms: f64,
    rounds: usize,
}

/// The times of a contender.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// Milliseconds of a run, the mean of each sample.
    samples_ms: Vec<f64>,
    /// The runs of a sample.
    runs: usize,
}

impl Times {
    /// Creates times from milliseconds of single runs.
    pub fn of_runs(samples_ms: Vec<f64>) -> Self {
        Self { samples_ms, runs: 1 }
    }

    /// The runs of a sample.
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// Returns whether the spread is [wide](WIDE), in spite of repeated measurements. The median may differ by some percent in
    /// another measurement.
    pub fn is_wide(&self) -> bool {
        spread(self) > WIDE
    }
}

impl Deref for Times {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.samples_ms
    }
}

impl From<usize> for Repetitions {
    /// This many samples, at least one, regardless of their time.
    fn from(count: usize) -> Self {
        Self { most: count.max(1), budget_ms: f64::INFINITY, rounds: MOST_ROUNDS }
    }
}

impl Repetitions {
    /// The minimum number of samples, regardless of the budget.
    const LEAST: usize = 3;
    /// A run that takes longer than this many budgets is timed once.
    const LONG: f64 = 10.0;

    /// Up to as many samples as fit in a time budget, at least three; only one if a run takes ten times the budget.
    #[must_use]
    pub fn within(self, budget_ms: f64) -> Self {
        Self { budget_ms, ..self }
    }

    /// The most samples.
    pub fn most(self) -> usize {
        self.most
    }

    /// Measured once, however wide the spread is.
    #[must_use]
    pub fn once(self) -> Self {
        Self { rounds: 1, ..self }
    }

    /// The number of samples if one takes `ms`.
    pub fn samples(self, ms: f64) -> usize {
        let fitting = (self.budget_ms / ms) as usize;
        fitting.clamp(Self::LEAST.min(self.most), self.most)
    }

    fn is_long(self, ms: f64) -> bool {
        ms > Self::LONG * self.budget_ms
    }

    /// The times of one contender.
    ///
    /// # Errors
    ///
    /// The first error of a run.
    pub fn times<E>(self, timed: impl FnMut(usize) -> Result<f64, E>) -> Result<Times, E> {
        let mut times = self.interleaved(vec![Box::new(timed)]);
        times.pop().unwrap_or_else(|| unreachable!("one contender, one result"))
    }

    /// The times of contenders that take turns, so that what changes over time affects all of them: the clock rate, and
    /// other programs.
    ///
    /// Every contender is warmed up first; its first run never counts. Then everyone takes a sample per turn. If anyone's
    /// times are spread [widely](WIDE), all are measured again, in at most [`MOST_ROUNDS`] rounds; of each contender, the
    /// round with the narrowest spread counts, whether it was the fastest or not. The error of a contender ends its turns
    /// only.
    pub fn interleaved<E>(self, contenders: Vec<Timed<'_, E>>) -> Vec<Result<Times, E>> {
        let mut racers: Vec<Racer<'_, E>> =
            contenders.into_iter().map(|timed| Racer::warmed_up(timed, self)).collect();
        for _ in 0..self.rounds {
            round(&mut racers);
            if racers.iter().all(Racer::is_settled) {
                break;
            }
        }
        racers.into_iter().map(Racer::finish).collect()
    }
}

/// A contender in progress.
struct Racer<'t, E> {
    timed: Timed<'t, E>,
    /// Runs per sample.
    runs: usize,
    /// Samples per round; 0 if no more are needed or possible.
    samples: usize,
    current: Vec<f64>,
    best: Option<Vec<f64>>,
    error: Option<E>,
}

impl<'t, E> Racer<'t, E> {
    /// Warms up: one run that may include loading code, then samples until two successive ones agree.
    fn warmed_up(timed: Timed<'t, E>, repetitions: Repetitions) -> Self {
        let mut racer = Self { timed, runs: 1, samples: 0, current: Vec::new(), best: None, error: None };
        if let Err(error) = racer.warm_up(repetitions) {
            (racer.error, racer.samples) = (Some(error), 0);
        }
        racer
    }

    fn warm_up(&mut self, repetitions: Repetitions) -> Result<(), E> {
        (self.timed)(1)?;
        let mut ms = (self.timed)(1)?;
        if repetitions.is_long(ms) {
            self.best = Some(vec![ms]);
            return Ok(());
        }
        let most = if repetitions.most > 1 { MOST_WARM_UPS } else { 1 };
        for _ in 0..most {
            self.runs = runs_of_sample(ms);
            let before = std::mem::replace(&mut ms, (self.timed)(self.runs)? / self.runs as f64);
            if (before - ms).abs() <= WARM * before.max(ms) {
                break;
            }
        }
        self.runs = runs_of_sample(ms);
        self.samples = repetitions.samples(ms * self.runs as f64);
        Ok(())
    }

    fn take_sample(&mut self) {
        if self.error.is_some() {
            return;
        }
        match (self.timed)(self.runs) {
            Ok(ms) => self.current.push(ms / self.runs as f64),
            Err(error) => self.error = Some(error),
        }
    }

    /// Keeps the round if its spread is the narrowest.
    fn end_round(&mut self) {
        let current = std::mem::take(&mut self.current);
        if !current.is_empty() && self.best.as_ref().is_none_or(|best| spread(&current) < spread(best)) {
            self.best = Some(current);
        }
    }

    fn is_settled(&self) -> bool {
        self.error.is_some() || self.best.as_ref().is_some_and(|best| spread(best) <= WIDE)
    }

    fn finish(self) -> Result<Times, E> {
        match (self.error, self.best) {
            (Some(error), _) => Err(error),
            (None, best) => Ok(Times { samples_ms: best.unwrap_or_default(), runs: self.runs }),
        }
    }
}

/// One round of samples. Contenders with fewer samples take them spread over the whole round.
fn round<E>(racers: &mut [Racer<'_, E>]) {
    let turns = racers.iter().map(|racer| racer.samples).max().unwrap_or(0);
    for turn in 0..turns {
        for racer in &mut *racers {
            let taken = |turn: usize| turn * racer.samples / turns;
            if taken(turn + 1) > taken(turn) {
                racer.take_sample();
            }
        }
    }
    for racer in racers {
        racer.end_round();
    }
}

/// The runs of a sample, if a run takes `ms`.
fn runs_of_sample(ms: f64) -> usize {
    ((SAMPLE_MS / ms).ceil() as usize).clamp(1, MOST_RUNS)
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;
    use crate::statistics::median;

    /// A contender whose next run takes what `of` says of the number of runs before it.
    fn scripted<'t>(
        runs: &'t Cell<usize>,
        of: impl Fn(usize) -> f64 + 't,
    ) -> impl FnMut(usize) -> Result<f64, String> + 't {
        move |count| {
            let first = runs.replace(runs.get() + count);
            Ok((first..first + count).map(&of).sum())
        }
    }

    fn times(repetitions: Repetitions, of: impl Fn(usize) -> f64) -> (Times, usize) {
        let runs = Cell::new(0);
        let times = repetitions.times(scripted(&runs, of)).unwrap();
        (times, runs.get())
    }

    fn limited() -> Repetitions {
        Repetitions::from(50).within(30.0)
    }

    #[test]
    fn samples_are_as_many_as_the_budget_holds() {
        // Two runs and one more to warm up, then samples.
        let count = |repetitions: Repetitions, ms: f64| {
            let (times, runs) = times(repetitions, |_| ms);
            (times.len(), runs)
        };
        assert_eq!(count(Repetitions::from(5), 1e9), (5, 8));
        assert_eq!(count(Repetitions::from(0), 1.0), (1, 4));
        assert_eq!(count(limited(), 0.5), (50, 53));
        assert_eq!(count(limited(), 2.0), (15, 18));
        assert_eq!(count(limited(), 100.0), (3, 6));
        assert_eq!(count(limited(), 400.0), (1, 2));
        assert_eq!(count(Repetitions::from(2).within(30.0), 100.0), (2, 5));
    }

    #[test]
    fn a_slow_first_run_never_counts() {
        let compiled = |run| if run == 0 { 5000.0 } else { 1.0 };
        let (found, _) = times(limited(), compiled);
        assert!(found.len() == 30 && found.iter().all(|ms| (ms - 1.0).abs() < 1e-9), "{found:?}");
        // Not even if the rest is too long to be repeated.
        let (found, runs) = times(limited(), |run| if run == 0 { 5000.0 } else { 400.0 });
        assert_eq!((&found[..], runs), (&[400.0][..], 2));
    }

    #[test]
    fn runs_are_warmed_up_until_two_agree() {
        // Halved from run to run, then 1: a clock that rises.
        let (found, runs) = times(limited(), |run| (128.0 / 2_f64.powi(run as i32)).max(1.0));
        assert!(found.iter().all(|ms| (ms - 1.0).abs() < 1e-9), "{found:?}");
        assert!(runs < 40, "{runs}");
        // Runs that never agree are measured all the same, and marked.
        let alternating = |run| if run % 2 == 0 { 1.0 } else { 3.0 };
        let (found, _) = times(limited(), alternating);
        assert!(found.is_wide() && found.len() >= 3, "{found:?}");
        // A single sample comes after one warm-up, whether they agree or not.
        let (found, runs) = times(Repetitions::from(1), alternating);
        assert_eq!((found.len(), runs), (1, 4));
    }

    #[test]
    fn short_runs_are_timed_together() {
        let (found, _) = times(limited(), |_| 0.005);
        assert_eq!((found.runs(), found.len()), (100, 50));
        assert!((median(&found) - 0.005).abs() < 1e-9);
        // A timer of 5 microseconds' resolution, as seen by a sample.
        let timer = |runs: usize| Ok::<_, String>((runs as f64 * 0.0073 / 0.005).round() * 0.005);
        let found = limited().times(timer).unwrap();
        assert!((median(&found) / 0.0073 - 1.0).abs() < 0.01, "{found:?}");
        assert_eq!(times(limited(), |_| 1e-9).0.runs(), MOST_RUNS);
        assert_eq!(times(limited(), |_| 0.6).0.runs(), 1);
    }

    #[test]
    fn wide_times_are_measured_again_and_the_narrowest_round_counts() {
        // The first round is disturbed and has the shortest times; the second is calm.
        let of = |run: usize| if run < 13 && run > 3 { 0.6 + 0.2 * (run % 5) as f64 } else { 2.0 };
        let (found, runs) = times(Repetitions::from(10), of);
        assert!(runs > 20 && !found.is_wide(), "{runs}: {found:?}");
        assert!((median(&found) - 2.0).abs() < 1e-9);
        let (once, runs) = times(Repetitions::from(10).once(), of);
        assert!(once.is_wide() && runs == 13, "{runs}");
    }

    #[test]
    fn outliers_do_not_move_the_median_and_bimodal_times_are_marked() {
        let (found, _) = times(limited(), |run| if run % 10 == 9 { 50.0 } else { 1.0 });
        assert!((median(&found) - 1.0).abs() < 1e-9 && !found.is_wide(), "{found:?}");
        let (found, runs) = times(limited(), |run| if run / 2 % 2 == 0 { 1.0 } else { 1.5 });
        assert!(found.is_wide(), "{found:?}");
        // Three rounds.
        assert!(runs > 3 * found.len(), "{runs}");
    }

    #[test]
    fn contenders_take_turns_and_drift_affects_both() {
        let (order, clock) = (RefCell::new(String::new()), Cell::new(0.0));
        let contender = |name: char| -> Timed<'_, String> {
            let (order, clock) = (&order, &clock);
            Box::new(move |runs| {
                order.borrow_mut().push(name);
                // Every run makes the next one slower.
                clock.set(clock.get() + runs as f64);
                Ok(runs as f64 * (1.0 + 0.01 * clock.get()))
            })
        };
        let found = Repetitions::from(20).once().interleaved(vec![contender('a'), contender('b')]);
        assert!(order.borrow().ends_with(&"ab".repeat(20)), "{}", order.borrow());
        let medians: Vec<f64> = found.iter().map(|times| median(times.as_ref().unwrap())).collect();
        assert!((medians[1] / medians[0] - 1.0).abs() < 0.02, "{medians:?}");
    }

    #[test]
    fn a_slow_contender_is_sampled_over_the_whole_round() {
        let order = RefCell::new(String::new());
        let contender = |name: char, ms: f64| -> Timed<'_, String> {
            let order = &order;
            Box::new(move |runs| {
                order.borrow_mut().push(name);
                Ok(ms * runs as f64)
            })
        };
        let found = limited().interleaved(vec![contender('a', 1.0), contender('b', 10.0)]);
        assert_eq!(found.iter().map(|times| times.as_ref().unwrap().len()).collect::<Vec<_>>(), [30, 3]);
        let round = order.borrow()[6..].to_owned();
        assert_eq!(round, format!("{0}b{0}b{0}b", "a".repeat(10)));
    }

    #[test]
    fn an_error_ends_the_turns_of_one_contender_only() {
        let failing = |after: usize| -> Timed<'static, String> {
            let mut runs = 0;
            Box::new(move |_| {
                runs += 1;
                if runs > after { Err(format!("lost after {after}")) } else { Ok(1.0) }
            })
        };
        let found = limited().interleaved(vec![failing(0), failing(1000), failing(9)]);
        assert_eq!(found[0], Err("lost after 0".into()));
        assert_eq!(found[1].as_ref().map(|times| times.len()), Ok(30));
        assert_eq!(found[2], Err("lost after 9".into()));
    }
}
