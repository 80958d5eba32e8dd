//! The handles of a communicator, and of the one that is split off.

use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::functions::Handle;

/// The communicators, until they are destroyed or aborted.
pub(crate) struct Live {
    /// The one whose calls do not block; null at the beginning and the end.
    pub(crate) handle: Handle,
    /// The one whose calls block, which NCCL writes here while it is split off.
    pub(crate) quick: Box<AtomicPtr<c_void>>,
    /// Whether that is done.
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
