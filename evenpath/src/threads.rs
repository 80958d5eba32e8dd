//! Threads of the CPU, which do not exist in a forked process.
//!
//! `fork` copies only the calling thread. Rayon's pool is copied without its threads, and work given to it is
//! never done.

use std::cell::Cell;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Process that first used the pool of all threads, or zero.
static OWNER: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Process in which a thread of a pool was first seen, or zero.
    static BORN: Cell<u32> = const { Cell::new(0) };
}

/// Reason in errors of a process without threads.
pub(crate) const FORKED: &str = "this process was forked from one that had already used its threads, which fork does not copy; use the CPU inside `install` of a rayon pool that this process builds, or fork before the first use";

/// Returns whether this thread's pool may be used: it was not created by a process from which this one was
/// forked. Checked before the pool is entered.
pub(crate) fn have_started_here() -> bool {
    let process = process::id();
    if rayon::current_thread_index().is_some() {
        // In the child, a thread that forked belongs to a pool without other threads. `Err` means that the
        // thread is ending.
        let born = BORN.try_with(|born| {
            born.set(if born.get() == 0 { process } else { born.get() });
            born.get()
        });
        return born.is_ok_and(|born| born == process);
    }
    // This number publishes no memory: the parent wrote it before the fork.
    match OWNER.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => true,
        Err(owner) => owner == process,
    }
}
