//! Events: marks in a device's stream, with the time between them.

use std::time::Instant;

use super::error::DeviceError;
use super::handle::{Backend, Device};
use super::machine::Moment;

/// A mark in a device's stream, made by [`Device::record`]. It measures the time between two marks, and tells
/// if the device has reached it.
///
/// An NVIDIA GPU takes the time when it reaches the mark. On the CPU and the simulated GPU, earlier work is
/// already complete, and the host's clock is read.
///
/// ```
/// use evenpath::{Device, vector};
///
/// let device = Device::best()?;
/// let x = device.upload(&[1.0, 2.0])?;
/// let mut y = device.zeros(2)?;
/// let start = device.record()?;
/// vector::axpby(1.0, &x, 0.0, &mut y)?;
/// let end = device.record()?;
/// let ms = end.elapsed_since(&start)?; // waits for both
/// assert!(ms >= 0.0 && start.is_done()? && end.is_done()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Event {
    device: Device,
    moment: Moment,
}

impl Device {
    /// Marks the current position in the calling thread's stream.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn record(&self) -> Result<Event, DeviceError> {
        self.refuse_in_graph("an event is recorded")?;
        let moment = match &self.shared.backend {
            Backend::Cpu => Moment::Host(Instant::now()),
            Backend::Machine(machine) => machine.record(self.stream_number())?,
        };
        Ok(Event { device: self.clone(), moment })
    }
}

impl Event {
    /// Returns whether the device has completed all earlier work of the stream. Does not wait.
    ///
    /// # Errors
    ///
    /// If the device was lost.
    pub fn is_done(&self) -> Result<bool, DeviceError> {
        match &self.moment {
            Moment::Host(_) => Ok(true),
            #[cfg(feature = "cuda")]
            Moment::Stream(mark) => mark.is_done(),
        }
    }

    /// Returns the milliseconds that the device took from `earlier` to this event. Waits for this event.
    ///
    /// # Errors
    ///
    /// If the events are of different devices, or the device was lost.
    pub fn elapsed_since(&self, earlier: &Self) -> Result<f64, DeviceError> {
        self.device.check_same(&earlier.device)?;
        match (&earlier.moment, &self.moment) {
            (Moment::Host(from), Moment::Host(to)) => {
                let forth = to.saturating_duration_since(*from).as_secs_f64();
                let back = from.saturating_duration_since(*to).as_secs_f64();
                Ok((forth - back) * 1e3)
            }
            #[cfg(feature = "cuda")]
            (Moment::Stream(from), Moment::Stream(to)) => {
                to.elapsed_since(&**from).unwrap_or_else(|| Err(self.device.different_from(&earlier.device)))
            }
            #[cfg(feature = "cuda")]
            _ => Err(self.device.different_from(&earlier.device)),
        }
    }
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Event").field("device", &self.device).finish_non_exhaustive()
    }
}
