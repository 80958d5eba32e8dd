//! The threads of the CPU, which a process that was forked does not have.
//!
//! `fork` copies the calling thread alone. Rayon's pool is copied without its threads, and who gives it work waits for ever.

use std::cell::Cell;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// The process that first used the pool of all threads, or zero.
static OWNER: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// The process in which a thread of a pool was first seen, or zero.
    static BORN: Cell<u32> = const { Cell::new(0) };
}

/// The reason for the errors of a process without threads.
pub(crate) const FORKED: &str = "this process was forked from one whose threads it does not have; \
    use the CPU inside `install` of a rayon pool that this process builds, or fork before the first use";

/// Whether the pool of this thread may be used: it is not of a process from which this one was forked. What enters the pool asks first.
pub(crate) fn have_started_here() -> bool {
    let process = process::id();
    if rayon::current_thread_index().is_some() {
        // A thread that forked is, in the child, of a pool without other threads. `Err` is of a thread that is about to end.
        let born = BORN.try_with(|born| {
            born.set(if born.get() == 0 { process } else { born.get() });
            born.get()
        });
        return born.is_ok_and(|born| born == process);
    }
    // No memory is published by this number: what it says of the parent was written before the fork.
    match OWNER.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => true,
        Err(owner) => owner == process,
    }
}
