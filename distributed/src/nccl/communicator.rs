//! A rank's end of an NCCL communicator, in two parts: a non-blocking one, and a blocking one that is split
//! off.
//!
//! After a failure both are aborted, once, which also ends NCCL kernels that wait for other GPUs; then they
//! are not used again.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use evenpath::Device;
use parking_lot::Mutex;

use super::functions::{Functions, Handle, IN_PROGRESS, SUCCESS};

/// The communicators, until they are destroyed or aborted.
pub(crate) struct Live {
    /// The non-blocking communicator; null before its creation and after its end.
    pub(crate) handle: Handle,
    /// The blocking communicator; NCCL writes it here when it is split off.
    pub(crate) quick: Box<AtomicPtr<c_void>>,
    /// True once it is split off.
    pub(crate) is_split: bool,
}

impl Default for Live {
    fn default() -> Self {
        Self { handle: std::ptr::null_mut(), quick: Box::default(), is_split: false }
    }
}

impl Live {
    pub(crate) fn handle(&self) -> Option<Handle> {
        (!self.handle.is_null()).then_some(self.handle)
    }

    pub(crate) fn quick(&self) -> Option<Handle> {
        let quick = self.quick.load(Ordering::Acquire);
        (self.is_split && !quick.is_null()).then_some(quick)
    }
}

// SAFETY: a communicator may be used by any thread, by one at a time.
unsafe impl Send for Live {}

/// A rank's end of the communicator of a run.
pub(crate) struct Communicator {
    pub(crate) functions: Functions,
    pub(crate) device: Device,
    pub(crate) live: Mutex<Live>,
}

impl Communicator {
    /// Describes the result of a call.
    pub(crate) fn describe(&self, call: &str, code: c_int) -> String {
        let live = self.live.lock();
        self.functions.describe(call, code, live.handle)
    }

    /// Aborts the communicator, unless it has ended.
    pub(crate) fn abort(&self) {
        self.end(|functions, handle| {
            // SAFETY: the communicator is live, and not used again.
            unsafe { (functions.ncclCommAbort)(handle) }
        });
    }

    /// Ends the communicators. The blocking one is always aborted, because finalizing it could wait for other
    /// ranks: all its exchanges have completed or failed.
    pub(crate) fn end(&self, call: impl FnOnce(&Functions, Handle) -> c_int) {
        let mut live = std::mem::take(&mut *self.live.lock());
        let Some(handle) = live.handle() else { return };
        let abort_quick = |functions: &Functions, live: &Live| {
            if let Some(quick) = live.quick() {
                live.quick.store(std::ptr::null_mut(), Ordering::Release);
                // SAFETY: the communicator is live, and not used again.
                unsafe { (functions.ncclCommAbort)(quick) };
            }
        };
        self.in_context(|functions| {
            abort_quick(functions, &live);
            let code = call(functions, handle);
            // The abort has ended a split in progress, but may have been too late to prevent it.
            live.is_split = true;
            abort_quick(functions, &live);
            code
        });
    }

    /// Calls NCCL with the device's context current, if the device still has one.
    pub(crate) fn in_context(&self, call: impl FnOnce(&Functions) -> c_int) -> c_int {
        let mut call = Some(call);
        let mut code = None;
        let mut once = || code = call.take().map(|call| call(&self.functions));
        // SAFETY: no memory of the device is used.
        if unsafe { self.device.put_foreign::<u8, _>(&[], &mut [], |_| once()) }.is_err() {
            once();
        }
        code.unwrap_or(SUCCESS)
    }

    pub(crate) fn with_live<R>(&self, call: impl FnOnce(&Functions, &Live) -> R) -> Option<R> {
        let live = self.live.lock();
        live.handle().map(|_| call(&self.functions, &live))
    }

    /// State of NCCL: success, in progress, or an error; `None` after the end.
    pub(crate) fn state(&self) -> Option<c_int> {
        self.with_live(|functions, live| {
            let state_of = |handle| {
                let mut state = SUCCESS;
                // SAFETY: the communicator is live, and there is room for its state.
                let code = unsafe { (functions.ncclCommGetAsyncError)(handle, &raw mut state) };
                if code == SUCCESS { state } else { code }
            };
            let states = live.quick().into_iter().chain(live.handle()).map(state_of);
            states.fold(SUCCESS, |all, state| {
                if matches!(all, SUCCESS | IN_PROGRESS) && state != SUCCESS { state } else { all }
            })
        })
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        self.abort();
    }
}
