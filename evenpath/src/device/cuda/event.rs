//! Events of the driver. Those of `cust` can only be recorded on streams of `cust`, and only be waited for
//! once.

use cust::sys::{self, CUevent, CUevent_flags, CUresult, CUstream};

use super::driver::{CallError, check_raw};

/// Timing of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Time {
    Kept,
    /// Without timing; such events cost the GPU less.
    Unknown,
}

/// An event. Its functions and its drop require that its context is current.
pub(super) struct Event(CUevent);

// SAFETY: the driver's functions for events are thread-safe.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    pub(super) fn new(time: Time) -> Result<Self, CallError> {
        let mut event = std::ptr::null_mut();
        let flags = match time {
            Time::Kept => CUevent_flags::CU_EVENT_DEFAULT,
            Time::Unknown => CUevent_flags::CU_EVENT_DISABLE_TIMING,
        };
        // SAFETY: `event` is live for the call.
        check_raw("cuEventCreate", unsafe { sys::cuEventCreate(&raw mut event, flags as u32) })?;
        Ok(Self(event))
    }

    /// Returns the driver's handle.
    pub(super) fn handle(&self) -> CUevent {
        self.0
    }

    /// Records the event on a stream, also if it was recorded before; earlier waits are not affected.
    pub(super) fn record(&self, stream: CUstream) -> Result<(), CallError> {
        // SAFETY: both are of the current context, and live.
        check_raw("cuEventRecord", unsafe { sys::cuEventRecord(self.0, stream) })
    }

    /// Waits until its stream has reached it.
    pub(super) fn synchronize(&self) -> Result<(), CallError> {
        // SAFETY: the event is of the current context, and live.
        check_raw("cuEventSynchronize", unsafe { sys::cuEventSynchronize(self.0) })
    }

    /// Returns whether its stream has reached it.
    pub(super) fn is_done(&self) -> Result<bool, CallError> {
        // SAFETY: as above.
        match unsafe { sys::cuEventQuery(self.0) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            other => check_raw("cuEventQuery", other).map(|()| true),
        }
    }

    /// Returns the milliseconds from an earlier event to this one. Both have timing and were waited for.
    pub(super) fn elapsed_since(&self, earlier: &Self) -> Result<f64, CallError> {
        let mut milliseconds = 0.0_f32;
        // SAFETY: both are of the current context, and live; `milliseconds` is live for the call.
        check_raw("cuEventElapsedTime", unsafe {
            sys::cuEventElapsedTime(&raw mut milliseconds, earlier.0, self.0)
        })?;
        Ok(f64::from(milliseconds))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is live, and not used again. Streams that wait for it still do.
        unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}
