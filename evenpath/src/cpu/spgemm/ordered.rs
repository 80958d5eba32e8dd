//! Concatenation of task results whose lengths are not known in advance.

use std::mem::{MaybeUninit, take};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;

use super::block::TaskRows;
use super::workspace::Workspace;
use crate::{Offset, Scalar, parallel};

/// Tasks, and memory for their results.
pub(super) struct Ordered<'c, V, C> {
    next_task: AtomicUsize,
    /// True if tasks continue after capacity is exhausted.
    runs_on: bool,
    places: Mutex<TaskPlaces<'c, V, C>>,
}

/// Outcome of the tasks.
pub(super) struct Ended<V> {
    /// Number of entries of the tasks whose results fit.
    pub(super) entries: usize,
    /// Rows of the tasks after these, in order.
    pub(super) rest: Vec<TaskRows<V>>,
    /// Number of completed tasks.
    pub(super) tasks: usize,
}

/// Positions of tasks in the output.
struct TaskPlaces<'c, V, C> {
    /// Row ends of each task, until it has its position.
    row_ends: Vec<&'c mut [C]>,
    /// Number of entries of each completed task.
    lengths: Vec<Option<usize>>,
    /// Positions of tasks whose results are not copied yet.
    known: Vec<Option<TaskPlace<'c, V, C>>>,
    /// The first task without a position.
    next: usize,
    /// Number of entries of the tasks before it.
    entries: usize,
    /// True if there is no room for it.
    is_full: bool,
    column_indices: &'c mut [MaybeUninit<u32>],
    values: &'c mut [MaybeUninit<V>],
}

/// A task's position in the output.
pub(super) struct TaskPlace<'c, V, C> {
    /// Number of entries before.
    pub(super) start: usize,
    pub(super) row_ends: &'c mut [C],
    pub(super) column_indices: &'c mut [MaybeUninit<u32>],
    pub(super) values: &'c mut [MaybeUninit<V>],
}

impl<'c, V: Scalar, C: Offset> Ordered<'c, V, C> {
    /// Creates the output for tasks of rows from the ends of all rows and memory for entries, of which some
    /// are already used.
    pub(super) fn new(
        tasks: &[Range<usize>],
        entries: usize,
        mut row_ends: &'c mut [C],
        (column_indices, values): (&'c mut [MaybeUninit<u32>], &'c mut [MaybeUninit<V>]),
        runs_on: bool,
    ) -> Self {
        let row_ends: Vec<_> = tasks
            .iter()
            .map(|task| {
                let (own, rest) = take(&mut row_ends).split_at_mut(task.len());
                row_ends = rest;
                own
            })
            .collect();
        let count = tasks.len();
        let places = TaskPlaces {
            row_ends,
            lengths: vec![None; count],
            known: (0..count).map(|_| None).collect(),
            next: 0,
            entries,
            is_full: false,
            column_indices,
            values,
        };
        Self { next_task: AtomicUsize::new(0), runs_on, places: Mutex::new(places) }
    }

    /// Runs tasks, which leave their rows in the block of their workspace, until all have completed or
    /// capacity is exhausted.
    pub(super) fn run(self, compute: impl Fn(usize, &mut Workspace<V>) + Sync) -> Ended<V> {
        let count = self.places.lock().lengths.len();
        let workers = rayon::current_num_threads().min(count);
        let waiting = Mutex::new(Vec::new());
        if workers <= 1 {
            waiting.lock().extend(self.work(&compute));
        } else {
            on_workers(workers, &|| {
                let own = self.work(&compute);
                waiting.lock().extend(own);
            });
        }
        let mut waiting = waiting.into_inner();
        waiting.sort_unstable_by_key(|&(task, _)| task);
        let next = self.places.lock().next;
        let rest = waiting.split_off(waiting.partition_point(|&(task, _)| task < next));
        // Earlier tasks have completed meanwhile.
        if !waiting.is_empty() {
            parallel::for_each(waiting, |(task, block)| {
                if let Some(place) = self.place(task) {
                    place.write(&block);
                }
            });
        }
        let rest: Vec<_> = rest.into_iter().map(|(_, block)| block).collect();
        Ended { entries: self.places.into_inner().entries, tasks: next + rest.len(), rest }
    }

    /// Runs tasks while there are some and there is room. Returns the results without a position.
    fn work(&self, compute: &(impl Fn(usize, &mut Workspace<V>) + Sync)) -> Vec<(usize, TaskRows<V>)> {
        let mut waiting: Vec<(usize, TaskRows<V>)> = Vec::new();
        let count = self.places.lock().lengths.len();
        Workspace::lend(|workspace| {
            let mut unused = Vec::new();
            loop {
                let task = self.next_task.fetch_add(1, Relaxed);
                if task >= count {
                    break;
                }
                compute(task, workspace);
                let is_full = self.places.lock().end(task, workspace.block.columns().len());
                waiting.retain_mut(|(task, block)| match self.place(*task) {
                    Some(place) => {
                        place.write(block);
                        unused.push(take(block));
                        false
                    }
                    None => true,
                });
                if let Some(place) = self.place(task) {
                    place.write(&workspace.block);
                } else {
                    let next = unused.pop().unwrap_or_default();
                    waiting.push((task, std::mem::replace(&mut workspace.block, next)));
                }
                if is_full && !self.runs_on {
                    break;
                }
            }
        });
        waiting
    }

    /// Takes the position of a task, if all earlier ones have completed.
    fn place(&self, task: usize) -> Option<TaskPlace<'c, V, C>> {
        self.places.lock().known[task].take()
    }
}

/// Calls `work` once for each worker, on any threads of the pool.
fn on_workers(workers: usize, work: &(dyn Fn() + Sync)) {
    rayon::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|_| work());
        }
    });
}

impl<V, C> TaskPlaces<'_, V, C> {
    /// Records that a task has completed with this many entries, and finds the positions of all tasks that
    /// now have one. Returns true if there is no room for more.
    fn end(&mut self, task: usize, entries: usize) -> bool {
        self.lengths[task] = Some(entries);
        while let Some(&Some(entries)) = self.lengths.get(self.next) {
            self.is_full = entries > self.values.len();
            if self.is_full {
                break;
            }
            let (column_indices, columns_left) = take(&mut self.column_indices).split_at_mut(entries);
            let (values, values_left) = take(&mut self.values).split_at_mut(entries);
            (self.column_indices, self.values) = (columns_left, values_left);
            let row_ends = take(&mut self.row_ends[self.next]);
            self.known[self.next] = Some(TaskPlace { start: self.entries, row_ends, column_indices, values });
            self.entries += entries;
            self.next += 1;
        }
        self.is_full
    }
}

impl<V: Scalar, C: Offset> TaskPlace<'_, V, C> {
    /// Copies rows to this position.
    pub(super) fn write(self, block: &TaskRows<V>) {
        self.column_indices.write_copy_of_slice(block.columns());
        self.values.write_copy_of_slice(block.values());
        for (to, &end) in self.row_ends.iter_mut().zip(block.ends()) {
            *to = C::from_bits((self.start + end) as u64);
        }
    }
}
