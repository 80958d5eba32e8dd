//! Shared by peers on the CPU.

use std::convert::Infallible;
use std::time::Instant;

use super::PeerError;
use crate::measure::{Clock, Repetitions, Times, times_ms};

/// The clock of the host: work is complete when a call returns.
pub(super) struct HostClock;

impl Clock for HostClock {
    type Event = Instant;
    type Error = Infallible;

    fn record(&self) -> Result<Instant, Infallible> {
        Ok(Instant::now())
    }

    fn synchronize(&self) -> Result<(), Infallible> {
        Ok(())
    }

    fn elapsed_ms(&self, start: &Instant, end: &Instant) -> Result<f64, Infallible> {
        Ok(end.duration_since(*start).as_secs_f64() * 1e3)
    }
}

impl From<Infallible> for PeerError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// Times of what makes a result, its destruction included, and a result.
pub(super) fn times_and_result<T>(
    repetitions: Repetitions,
    make: impl Fn() -> Result<T, PeerError>,
) -> Result<(Times, T), PeerError> {
    let times = times_ms(&HostClock, repetitions, || make().map(drop))?;
    Ok((times, make()?))
}

/// Milliseconds since a moment.
pub(super) fn elapsed_ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}
