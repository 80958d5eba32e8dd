//! Times on a device, rates, and the copy rate that they are compared with.

use evenpath::Device;
use evenpath::device::{DeviceKind, Event};
use evenpath::error::DeviceError;
use serde::{Deserialize, Serialize};

use crate::statistics::{quantile, spread};

pub use crate::statistics::median;
pub use crate::timing::{Repetitions, Timed, Times};

/// Bytes of each buffer for the copy rate: larger than any cache.
const COPY_BYTES: usize = 512 << 20;

/// A stream of work with events, so that evenpath and its peers are timed by the same function.
pub trait Clock {
    /// A point in the stream.
    type Event;
    /// The error of a measurement.
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
    /// Those of [`record`](Self::record).
    fn synchronize(&self) -> Result<(), Self::Error>;

    /// Waits for both events and returns the milliseconds between them.
    ///
    /// # Errors
    ///
    /// Those of [`record`](Self::record).
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
#[derive(Debug, Clone)]
pub struct Measurement {
    /// Timed samples.
    pub iterations: usize,
    /// Median milliseconds of one run.
    pub ms: f64,
    /// The shortest and the longest time, in milliseconds.
    pub range_ms: (f64, f64),
    /// The [`spread`] of the times, and what else says how they were taken.
    pub timing: Timing,
    /// 10⁹ operations per second.
    pub gflops: f64,
    /// [`Work::effective_bytes`] per second, in 10⁹.
    pub effective_gbps: f64,
    /// [`Work::counted_by`].
    pub counted_by: &'static str,
    /// [`Work::bytes`] per second, in 10⁹.
    pub gbps: f64,
    /// [`Work::bytes`]: if they fit in a cache, the rate is that of the cache.
    pub bytes: u64,
}

/// Source of a median.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The lower and the upper quartile, in milliseconds of a run.
    pub quartiles_ms: (f64, f64),
    /// The interquartile range over the median.
    pub spread: f64,
    /// The mean; not in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ms: Option<f64>,
    /// The shortest time; not in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortest_ms: Option<f64>,
    /// Samples.
    pub samples: usize,
    /// Runs of a sample.
    pub runs_per_sample: usize,
    /// True if the spread stayed wide when it was measured again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wide: bool,
}

impl Timing {
    /// Summarizes times.
    pub fn new(times: &Times) -> Self {
        Self {
            quartiles_ms: (quantile(times, 0.25), quantile(times, 0.75)),
            spread: spread(times),
            mean_ms: Some(times.iter().sum::<f64>() / times.len() as f64).filter(|mean| mean.is_finite()),
            shortest_ms: times.iter().copied().min_by(f64::total_cmp),
            samples: times.len(),
            runs_per_sample: times.runs(),
            wide: times.is_wide(),
        }
    }
}

impl Measurement {
    /// Computes a measurement from the times of runs that each do the work.
    pub fn new(work: Work, times_ms: &Times) -> Self {
        let ms = median(times_ms);
        let shortest = times_ms.iter().copied().fold(f64::INFINITY, f64::min);
        let longest = times_ms.iter().copied().fold(0.0, f64::max);
        let giga_per_second = |amount: u64| amount as f64 / ms / 1e6;
        Self {
            iterations: times_ms.len(),
            ms,
            range_ms: (shortest, longest),
            timing: Timing::new(times_ms),
            gflops: giga_per_second(work.operations),
            effective_gbps: giga_per_second(work.effective_bytes),
            counted_by: work.counted_by,
            gbps: giga_per_second(work.bytes),
            bytes: work.bytes,
        }
    }

    /// Returns whether all data fits in the L2 cache of the device, so that the rate is that of the cache. `None` if the size of L2
    /// is unknown.
    pub fn fits_l2(&self, device: &Device) -> Option<bool> {
        device.properties().l2_bytes.map(|l2| self.bytes <= l2)
    }
}

/// Times runs with events, as [`Repetitions`] says.
///
/// # Errors
///
/// The first error of a run, or of the clock.
pub fn times_ms<C: Clock, E: From<C::Error>>(
    clock: &C,
    repetitions: impl Into<Repetitions>,
    run: impl FnMut() -> Result<(), E>,
) -> Result<Times, E> {
    repetitions.into().times(sampled(clock, run))
}

/// Makes samples of successive runs between two events, for [`Repetitions::interleaved`]. Each begins with two runs before the
/// first event. The first is waited for: it brings the operands back into the caches, and the device to this contender's context,
/// if another had its turn. The second keeps the device busy while the host enqueues the others. If a sample began with a change of
/// context, the host would enqueue more runs in the meantime than after a turn in the same context, and short runs would
/// look shorter.
pub fn sampled<C: Clock, E: From<C::Error>>(
    clock: &C,
    mut run: impl FnMut() -> Result<(), E>,
) -> impl FnMut(usize) -> Result<f64, E> {
    move |runs| {
        run()?;
        clock.synchronize()?;
        run()?;
        let start = clock.record()?;
        for _ in 0..runs {
            run()?;
        }
        let end = clock.record()?;
        clock.synchronize()?;
        Ok(clock.elapsed_ms(&start, &end)?)
    }
}

/// Like [`times_ms`], but each run starts on an idle device, so that launch latency is included.
///
/// # Errors
///
/// The first error of a run, or of the clock.
pub fn single_times_ms<C: Clock, E: From<C::Error>>(
    clock: &C,
    repetitions: impl Into<Repetitions>,
    mut run: impl FnMut() -> Result<(), E>,
) -> Result<Times, E> {
    let mut single = || {
        clock.synchronize()?;
        let start = clock.record()?;
        run()?;
        Ok::<_, E>(clock.elapsed_ms(&start, &clock.record()?)?)
    };
    repetitions.into().times(|runs| (0..runs).map(|_| single()).sum())
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
        let work =
            Work { operations: 4_000_000, bytes: 6_000_000, effective_bytes: 8_000_000, counted_by: "test" };
        let measured = Measurement::new(work, &Times::of_runs(vec![4.0, 1.0, 2.0]));
        assert_eq!((measured.ms, measured.range_ms), (2.0, (1.0, 4.0)));
        // The quartiles are 1.5 and 3.
        assert!((measured.timing.spread - 0.75).abs() < 1e-12);
        assert_eq!((measured.gflops, measured.gbps, measured.effective_gbps), (2.0, 3.0, 4.0));
        assert_eq!(measured.fits_l2(&Device::cpu()), None);
    }

    /// A clock whose time passes only when it is told to.
    #[derive(Default)]
    struct FakeClock {
        now_ms: std::cell::Cell<f64>,
    }

    impl Clock for FakeClock {
        type Event = f64;
        type Error = String;

        fn record(&self) -> Result<f64, String> {
            Ok(self.now_ms.get())
        }

        fn synchronize(&self) -> Result<(), String> {
            Ok(())
        }

        fn elapsed_ms(&self, start: &f64, end: &f64) -> Result<f64, String> {
            Ok(end - start)
        }
    }

    #[test]
    fn the_runs_before_a_sample_are_not_timed() {
        let clock = FakeClock::default();
        let mut runs = 0;
        let mut sample = sampled(&clock, || {
            // Every fourth run takes longer, like one that loads its operands.
            clock.now_ms.set(clock.now_ms.get() + if runs % 4 == 0 { 100.0 } else { 1.0 });
            runs += 1;
            Ok::<_, String>(())
        });
        assert_eq!(sample(2), Ok(2.0));
        assert_eq!(sample(2), Ok(2.0));
        assert_eq!(sample(3), Ok(102.0));
    }

    #[test]
    fn times_of_a_clock_follow_the_rules() {
        let clock = FakeClock::default();
        let mut runs = 0;
        let times = times_ms(&clock, Repetitions::from(10).within(30.0), || {
            runs += 1;
            clock.now_ms.set(clock.now_ms.get() + if runs == 1 { 3000.0 } else { 0.01 });
            Ok::<_, String>(())
        });
        let times = times.unwrap();
        assert!((50..=51).contains(&times.runs()) && times.len() == 10, "{times:?}");
        assert!((median(&times) - 0.01).abs() < 1e-9);
    }
}
