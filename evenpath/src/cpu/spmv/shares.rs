//! Sharing of tiles among threads.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use parking_lot::Mutex;

/// Minimum number of tasks per thread: waking a thread takes as long as a few of them.
const LEAST: usize = 3;
/// Number of polls for the other threads' completion before the calling thread lets others run.
const SPINS: usize = 5000;

/// Runs a task for every index below `count`, on the calling thread and the other threads of rayon's pool.
///
/// Each thread starts with its own share, which is the same in every call and may be in its cache, and then
/// helps with the others. The calling thread does not wait for the others to wake: a thread that wakes after all tasks
/// are taken does nothing.
pub(super) fn for_each(count: usize, task: &(dyn Fn(usize) + Sync)) {
    let threads = rayon::current_num_threads().min(count / LEAST);
    if threads < 2 {
        return (0..count).for_each(task);
    }
    let bound = |share: usize| share * count / threads;
    let next: Vec<AtomicUsize> = (0..threads).map(|share| AtomicUsize::new(bound(share))).collect();
    let work = |own: usize| {
        for share in (own..threads).chain(0..own) {
            loop {
                let index = next[share].fetch_add(1, Relaxed);
                if index >= bound(share + 1) {
                    break;
                }
                task(index);
            }
        }
    };
    // SAFETY: the work is closed before it and what it borrows are dropped: nothing below unwinds before.
    let shared = Arc::new(unsafe { SharedWork::new(&work) });
    for share in 1..threads {
        let shared = Arc::clone(&shared);
        rayon::spawn(move || shared.help(share));
    }
    let own = catch_unwind(AssertUnwindSafe(|| work(0)));
    shared.close();
    if let Err(panic) = own {
        resume_unwind(panic);
    }
    let panic = shared.panic.lock().take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// Work that other threads may join until it is closed.
struct SharedWork {
    work: &'static (dyn Fn(usize) + Sync),
    /// [`THREAD`] for each thread inside, and [`CLOSED`].
    state: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Bit of a closed state.
const CLOSED: usize = 1;
/// The number that a thread adds to the state.
const THREAD: usize = 2;

impl SharedWork {
    /// # Safety
    /// [`close`](Self::close) is called before the work's lifetime ends.
    unsafe fn new(work: &(dyn Fn(usize) + Sync)) -> Self {
        // SAFETY: the work is used only by threads inside, and `close` lets none in and waits for those.
        let work =
            unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(work) };
        Self { work, state: AtomicUsize::new(0), panic: Mutex::new(None) }
    }

    /// Works, starting with a share, unless the work is closed.
    fn help(&self, share: usize) {
        if self.state.fetch_add(THREAD, Acquire) & CLOSED == 0
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| (self.work)(share)))
        {
            *self.panic.lock() = Some(panic);
        }
        self.state.fetch_sub(THREAD, Release);
    }

    /// Keeps other threads from joining, and waits until those that have joined are done.
    fn close(&self) {
        self.state.fetch_or(CLOSED, Acquire);
        let mut polls = 0;
        while self.state.load(Acquire) != CLOSED {
            polls += 1;
            if polls < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_runs_once() {
        for threads in [1, 2, 3, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for count in [0, 1, 2, 3, 4, 7, 100] {
                let runs: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                let run = |index: usize| {
                    runs[index].fetch_add(1, Relaxed);
                };
                pool.install(|| for_each(count, &run));
                assert!(runs.iter().all(|runs| runs.load(Relaxed) == 1), "{threads} threads, {count} tasks");
            }
        }
    }

    #[test]
    fn busy_threads_are_not_waited_for() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (release, blocked) = std::sync::mpsc::channel::<()>();
        let (started, has_started) = std::sync::mpsc::channel();
        pool.spawn(move || {
            started.send(()).unwrap();
            blocked.recv().unwrap();
        });
        has_started.recv().unwrap();
        let runs = AtomicUsize::new(0);
        let run = |_: usize| {
            runs.fetch_add(1, Relaxed);
        };
        pool.install(|| for_each(100, &run));
        assert_eq!(runs.load(Relaxed), 100);
        release.send(()).unwrap();
    }

    #[test]
    fn closed_work_is_left_alone() {
        let runs = AtomicUsize::new(0);
        let run = |share: usize| {
            runs.fetch_add(share, Relaxed);
        };
        // SAFETY: it is closed below.
        let shared = unsafe { SharedWork::new(&run) };
        shared.help(7);
        shared.close();
        shared.help(100);
        shared.close();
        assert_eq!(runs.load(Relaxed), 7);
    }

    #[test]
    fn a_panic_of_another_thread_is_kept() {
        let fails = |_: usize| panic!("the test's panic");
        // SAFETY: it is closed below.
        let shared = unsafe { SharedWork::new(&fails) };
        shared.help(1);
        shared.close();
        assert!(shared.panic.lock().is_some());
    }

    #[test]
    fn a_panic_of_any_task_is_the_caller_s() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for at in [0, 20, 50, 80, 99] {
            let run = |index: usize| assert_ne!(index, at, "the test's panic");
            let caught = catch_unwind(AssertUnwindSafe(|| pool.install(|| for_each(100, &run))));
            assert!(caught.is_err(), "{at}");
        }
    }
}
