//! Sharing of tiles among threads.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Minimum number of tasks per thread: waking a thread takes as long as a few of them.
const LEAST: usize = 3;
/// Number of polls for the other threads' completion before the calling thread sleeps. That takes a few times
/// as long as a task; waking it would take longer.
const SPINS: usize = 5000;

/// Runs a task for every index below `count`, on the calling thread and the other threads of rayon's pool.
///
/// Each thread starts with its own share, which is the same in every call and may be in its cache, and then
/// helps with the others. The calling thread does not wait for the others to wake.
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
    let finished = AtomicUsize::new(1);
    let (work, finished) = (&work, &finished);
    rayon::in_place_scope(|scope| {
        for share in 1..threads {
            scope.spawn(move |_| {
                work(share);
                finished.fetch_add(1, Relaxed);
            });
        }
        work(0);
        for _ in 0..SPINS {
            if finished.load(Relaxed) == threads {
                break;
            }
            std::hint::spin_loop();
        }
    });
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
}
