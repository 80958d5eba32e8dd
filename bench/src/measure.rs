//! Times on a device, rates, and the rate they are compared with.

use evenpath::{Device, DeviceError, DeviceKind, Event};
use serde::Serialize;

/// Bytes of each buffer with which the copy rate is measured: more than any cache holds.
const COPY_BYTES: usize = 512 << 20;

/// Whose time is taken: a stream of work, with events in it. One function times all of them alike.
pub trait Clock {
    /// A place in the stream.
    type Event;
    /// Why time cannot be taken.
    type Error;

    /// Marks the place that the stream has come to.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    fn record(&self) -> Result<Self::Event, Self::Error>;

    /// Waits until everything is done.
    ///
    /// # Errors
    ///
    /// As for [`record`](Self::record).
    fn synchronize(&self) -> Result<(), Self::Error>;

    /// Waits for both events; milliseconds between them.
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

/// What one run has to do, however it does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Operations on values.
    pub operations: u64,
    /// Bytes of all arrays, each counted once: the least that must be moved.
    pub bytes: u64,
    /// Bytes as others count them, to compare with their figures.
    pub effective_bytes: u64,
    /// Who counts so.
    pub counted_by: &'static str,
}

/// How long an operation took, and what that is in operations and bytes a second.
#[derive(Debug, Clone, Serialize)]
pub struct Measurement {
    /// Runs that were timed.
    pub iterations: usize,
    /// Median time of one run.
    pub ms: f64,
    /// The shortest and the longest.
    pub range_ms: (f64, f64),
    /// 10⁹ operations a second.
    pub gflops: f64,
    /// [`Work::effective_bytes`] a second.
    pub effective_gbps: f64,
    /// [`Work::counted_by`].
    #[serde(skip)]
    pub counted_by: &'static str,
    /// [`Work::bytes`] a second.
    pub gbps: f64,
    /// [`Work::bytes`]: what fits in a cache is measured there.
    pub bytes: u64,
}

impl Measurement {
    /// From the times of runs that each did the work.
    pub fn new(work: Work, times_ms: &[f64]) -> Self {
        let ms = median(times_ms);
        let shortest = times_ms.iter().copied().fold(f64::INFINITY, f64::min);
        let longest = times_ms.iter().copied().fold(0.0, f64::max);
        let giga_per_second = |amount: u64| amount as f64 / ms / 1e6;
        Self {
            iterations: times_ms.len(),
            ms,
            range_ms: (shortest, longest),
            gflops: giga_per_second(work.operations),
            effective_gbps: giga_per_second(work.effective_bytes),
            counted_by: work.counted_by,
            gbps: giga_per_second(work.bytes),
            bytes: work.bytes,
        }
    }

    /// Whether all of the data fits in the device's second-level cache, which the rate then is that of. `None` where
    /// the device does not tell.
    pub fn fits_l2(&self, device: &Device) -> Option<bool> {
        device.properties().l2_bytes.map(|l2| self.bytes <= l2)
    }
}

/// Milliseconds of each of `repetitions` runs, timed with events, after one that is not counted.
///
/// # Errors
///
/// The first error of a run, or of the clock.
pub fn times_ms<C: Clock, E: From<C::Error>>(
    clock: &C,
    repetitions: usize,
    mut run: impl FnMut() -> Result<(), E>,
) -> Result<Vec<f64>, E> {
    run()?;
    clock.synchronize()?;
    let mut events = Vec::with_capacity(repetitions.min(1 << 16));
    for _ in 0..repetitions {
        let start = clock.record()?;
        run()?;
        events.push((start, clock.record()?));
    }
    clock.synchronize()?;
    Ok(events.iter().map(|(start, end)| clock.elapsed_ms(start, end)).collect::<Result<_, _>>()?)
}

/// Milliseconds of each of `repetitions` runs as [`times_ms`] has them, but each on a device that is idle when it begins,
/// so that what the host takes to launch it counts where the device would wait for it; after as many runs that are not
/// counted, three at most.
///
/// # Errors
///
/// The first error of a run, or of the device.
pub fn single_times_ms<E: From<DeviceError>>(
    device: &Device,
    repetitions: usize,
    mut run: impl FnMut() -> Result<(), E>,
) -> Result<Vec<f64>, E> {
    for _ in 0..repetitions.min(3) {
        run()?;
    }
    let mut single = || {
        device.synchronize()?;
        let start = device.record()?;
        run()?;
        Ok(device.record()?.elapsed_since(&start)?)
    };
    (0..repetitions).map(|_| single()).collect()
}

/// The middle of the values, the mean of the two middle ones where their number is even; NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => f64::NAN,
        (len, middle) if len % 2 == 1 => sorted[middle],
        (_, middle) => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The rate at which the device copies within its memory, in GB/s, bytes read and bytes written counted: the ceiling
/// of everything that is bound by memory.
///
/// # Errors
///
/// If the device has not the memory for two buffers, or was lost.
pub fn copy_rate(device: &Device) -> Result<f64, DeviceError> {
    let (bytes, repetitions) = match device.kind() {
        DeviceKind::Cuda(_) => (COPY_BYTES, 20),
        DeviceKind::Cpu => (COPY_BYTES / 4, 5),
        DeviceKind::Simulated => (1 << 20, 3),
    };
    let source = device.upload_slice(&vec![1_u64; bytes / 8])?;
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
        assert_eq!((measured.gflops, measured.gbps, measured.effective_gbps), (2.0, 3.0, 4.0));
        assert_eq!(measured.fits_l2(&Device::cpu()), None);
    }

    #[test]
    fn median_of_an_even_number_is_between_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]).to_bits(), 2.5_f64.to_bits());
        assert!(median(&[]).is_nan());
    }
}
