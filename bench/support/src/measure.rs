//! Times on a device, rates, and the copy rate that they are compared with.

use evenpath::Device;
use evenpath::device::{DeviceKind, Event};
use evenpath::error::DeviceError;
use serde::Serialize;

use crate::statistics::{self, narrowest, spread};

pub use crate::statistics::median;

/// Bytes of each buffer for the copy rate: larger than any cache.
const COPY_BYTES: usize = 512 << 20;

/// A stream of work with events, so that evenpath and its peers are timed by the same function.
pub trait Clock {
    /// A point in the stream.
    type Event;
    /// Why the time cannot be measured.
    type Error;

    /// Records an event after the work so far.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    fn record(&self) -> Result<Self::Event, Self::Error>;

    /// Waits until all work is complete.
    ///
    /// # Errors
    ///
    /// As for [`record`](Self::record).
    fn synchronize(&self) -> Result<(), Self::Error>;

    /// Waits for both events and returns the milliseconds between them.
    ///
    /// # Errors
    ///
    /// As for [`record`](Self::record).
    fn elapsed_ms(&self, start: &Self::Event, end: &Self::Event) -> Result<f64, Self::Error>;
}

impl Clock for Device {
    type Event = Event;
    type Error = DeviceError;

    fn record(&self) -> Result<Event, DeviceError> {
        self.record()
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.synchronize()
    }

    fn elapsed_ms(&self, start: &Event, end: &Event) -> Result<f64, DeviceError> {
        end.elapsed_since(start)
    }
}

/// The work of one run, independent of the method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Floating-point operations.
    pub operations: u64,
    /// Bytes of all arrays, each counted once: the minimum traffic.
    pub bytes: u64,
    /// Bytes as counted by another source, for comparison with its figures.
    pub effective_bytes: u64,
    /// The name of that source.
    pub counted_by: &'static str,
}

/// The time of an operation, and its rates in operations and bytes per second.
#[derive(Debug, Clone, Serialize)]
pub struct Measurement {
    /// Timed runs.
    pub iterations: usize,
    /// Median milliseconds of one run.
    pub ms: f64,
    /// The shortest and the longest time, in milliseconds.
    pub range_ms: (f64, f64),
    /// The [`spread`] of the times.
    pub spread: f64,
    /// 10⁹ operations per second.
    pub gflops: f64,
    /// [`Work::effective_bytes`] per second, in 10⁹.
    pub effective_gbps: f64,
    /// [`Work::counted_by`].
    #[serde(skip)]
    pub counted_by: &'static str,
    /// [`Work::bytes`] per second, in 10⁹.
    pub gbps: f64,
    /// [`Work::bytes`]: if they fit in a cache, the rate is that of the cache.
    pub bytes: u64,
}

impl Measurement {
    /// Computes a measurement from the times of runs that each do the work.
    pub fn new(work: Work, times_ms: &[f64]) -> Self {
        let ms = median(times_ms);
        let shortest = times_ms.iter().copied().fold(f64::INFINITY, f64::min);
        let longest = times_ms.iter().copied().fold(0.0, f64::max);
        let giga_per_second = |amount: u64| amount as f64 / ms / 1e6;
        Self {
            iterations: times_ms.len(),
            ms,
            range_ms: (shortest, longest),
            spread: spread(times_ms),
            gflops: giga_per_second(work.operations),
            effective_gbps: giga_per_second(work.effective_bytes),
            counted_by: work.counted_by,
            gbps: giga_per_second(work.bytes),
            bytes: work.bytes,
        }
    }

    /// Whether all data fits in the L2 cache of the device, so that the rate is that of the cache. `None` if the size of L2
    /// is unknown.
    pub fn fits_l2(&self, device: &Device) -> Option<bool> {
        device.properties().l2_bytes.map(|l2| self.bytes <= l2)
    }
}

/// The number of timed runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repetitions {
    most: usize,
    budget_ms: f64,
    rounds: usize,
}

impl From<usize> for Repetitions {
    /// This many runs, at least one, regardless of their time.
    fn from(count: usize) -> Self {
        Self { most: count.max(1), budget_ms: f64::INFINITY, rounds: 1 }
    }
}

/// The outcome of the first runs.
enum FirstRuns {
    /// One run took so long that it is not repeated.
    Enough(f64),
    /// This many runs should be timed.
    Wanted(usize),
}

impl Repetitions {
    /// The minimum number of runs, regardless of the budget.
    const LEAST: usize = 3;
    /// A run that takes longer than this many budgets is not repeated.
    const LONG: f64 = 10.0;
    /// An upper bound on the time that loading code adds to a first run.
    const LONGEST_LOADING_MS: f64 = 1000.0;

    /// As many runs as fit in a time budget, at least three; only one if it takes ten times the budget.
    #[must_use]
    pub fn within(self, budget_ms: f64) -> Self {
        Self { budget_ms, ..self }
    }

    /// Times whose spread is [wide](statistics::WIDE) are measured again, in at most
    /// [`MOST_ROUNDS`](statistics::MOST_ROUNDS) rounds; the times of the narrowest count.
    #[must_use]
    pub fn steady(self) -> Self {
        Self { rounds: statistics::MOST_ROUNDS, ..self }
    }

    /// The number of runs if one takes `ms`.
    pub fn of_length(self, ms: f64) -> usize {
        let fitting = (self.budget_ms / ms) as usize;
        fitting.clamp(Self::LEAST.min(self.most), self.most)
    }

    /// Makes the first runs, which determine how many follow. `timed` makes one run and returns its milliseconds.
    fn first_runs<E>(self, mut timed: impl FnMut() -> Result<f64, E>) -> Result<FirstRuns, E> {
        let mut ms = timed()?;
        if self.of_length(ms) < self.most {
            if ms > Self::LONGEST_LOADING_MS && ms > Self::LONG * self.budget_ms {
                return Ok(FirstRuns::Enough(ms));
            }
            ms = timed()?;
        }
        let is_long = ms > Self::LONG * self.budget_ms;
        Ok(if is_long { FirstRuns::Enough(ms) } else { FirstRuns::Wanted(self.of_length(ms)) })
    }

    /// Milliseconds of each run, after a warm-up run, which counts only if it takes too long to be repeated. `timed` makes
    /// one run.
    ///
    /// # Errors
    ///
    /// The first error of a run.
    pub fn times_ms<E>(self, mut timed: impl FnMut() -> Result<f64, E>) -> Result<Vec<f64>, E> {
        match self.first_runs(&mut timed)? {
            FirstRuns::Enough(ms) => Ok(vec![ms]),
            FirstRuns::Wanted(count) => narrowest(self.rounds, || (0..count).map(|_| timed()).collect()),
        }
    }
}

/// Milliseconds of each of `repetitions` runs, timed with events, after a warm-up run. The host does not wait between runs.
///
/// # Errors
///
/// The first error of a run, or of the clock.
pub fn times_ms<C: Clock, E: From<C::Error>>(
    clock: &C,
    repetitions: impl Into<Repetitions>,
    mut run: impl FnMut() -> Result<(), E>,
) -> Result<Vec<f64>, E> {
    let repetitions = repetitions.into();
    let mut events = Vec::new();
    let mut timed = |events: &mut Vec<_>| {
        let start = clock.record()?;
        run()?;
        events.push((start, clock.record()?));
        Ok::<_, E>(())
    };
    let first_runs = repetitions.first_runs(|| {
        timed(&mut events)?;
        clock.synchronize()?;
        let (start, end) = &events[events.len() - 1];
        Ok::<_, E>(clock.elapsed_ms(start, end)?)
    })?;
    let count = match first_runs {
        FirstRuns::Enough(ms) => return Ok(vec![ms]),
        FirstRuns::Wanted(count) => count,
    };
    narrowest(repetitions.rounds, || {
        events.clear();
        for _ in 0..count {
            timed(&mut events)?;
        }
        clock.synchronize()?;
        Ok(events.iter().map(|(start, end)| clock.elapsed_ms(start, end)).collect::<Result<_, _>>()?)
    })
}

/// Like [`times_ms`], but each run starts on an idle device, so that launch latency is included; after up to three warm-up
/// runs.
///
/// # Errors
///
/// The first error of a run, or of the device.
pub fn single_times_ms<E: From<DeviceError>>(
    device: &Device,
    repetitions: impl Into<Repetitions>,
    mut run: impl FnMut() -> Result<(), E>,
) -> Result<Vec<f64>, E> {
    let mut single = || {
        device.synchronize()?;
        let start = device.record()?;
        run()?;
        Ok::<_, E>(device.record()?.elapsed_since(&start)?)
    };
    let repetitions = repetitions.into();
    let count = match repetitions.first_runs(&mut single)? {
        FirstRuns::Enough(ms) => return Ok(vec![ms]),
        FirstRuns::Wanted(count) => count,
    };
    for _ in 1..count.min(3) {
        single()?;
    }
    narrowest(repetitions.rounds, || (0..count).map(|_| single()).collect())
}

/// The rate at which the device copies within its memory, in GB/s of bytes read plus bytes written: the limit of
/// memory-bound operations.
///
/// # Errors
///
/// If there is not enough memory for two buffers, or the device was lost.
pub fn copy_rate(device: &Device) -> Result<f64, DeviceError> {
    let (bytes, repetitions) = match device.kind() {
        DeviceKind::Cuda(_) => (COPY_BYTES, 20_usize),
        DeviceKind::Cpu => (COPY_BYTES / 4, 5),
        DeviceKind::Simulated => (1 << 20, 3),
    };
    let source = device.upload(&vec![1_u64; bytes / 8])?;
    let mut target = device.zeros::<u64>(bytes / 8)?;
    let times = times_ms(device, repetitions, || target.copy_from(&source))?;
    Ok(2.0 * bytes as f64 / median(&times) / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_follow_from_work_and_median() {
        let work = Work {
            operations: 4_000_000,
            bytes: 6_000_000,
            effective_bytes: 8_000_000,
            counted_by: "nobody",
        };
        let measured = Measurement::new(work, &[4.0, 1.0, 2.0]);
        assert_eq!((measured.ms, measured.range_ms), (2.0, (1.0, 4.0)));
        // The quartiles are 1.5 and 3.
        assert!((measured.spread - 0.75).abs() < 1e-12);
        assert_eq!((measured.gflops, measured.gbps, measured.effective_gbps), (2.0, 3.0, 4.0));
        assert_eq!(measured.fits_l2(&Device::cpu()), None);
    }

    #[test]
    fn runs_are_as_many_as_the_budget_holds() {
        let count = |repetitions: Repetitions, ms: &[f64]| {
            let mut runs = 0;
            let mut timed = || {
                runs += 1;
                Ok::<_, ()>(ms[(runs - 1).min(ms.len() - 1)])
            };
            let times = repetitions.times_ms(&mut timed).unwrap();
            (times.len(), runs)
        };
        let exact = Repetitions::from(5);
        assert_eq!(count(exact, &[1e9]), (5, 6));
        assert_eq!(count(Repetitions::from(0), &[1.0]), (1, 2));
        let limited = Repetitions::from(50).within(30.0);
        assert_eq!(count(limited, &[0.1]), (50, 51));
        assert_eq!(count(limited, &[2.0]), (15, 17));
        // The time for loading code is not counted.
        assert_eq!(count(limited, &[400.0, 0.1]), (50, 52));
        assert_eq!(count(limited, &[100.0]), (3, 5));
        assert_eq!(count(limited, &[400.0]), (1, 2));
        assert_eq!(count(limited, &[5000.0]), (1, 1));
        assert_eq!(count(Repetitions::from(2).within(30.0), &[100.0]), (2, 3));
    }
}
