//! The product of two matrices, in tasks of consecutive rows.

use std::ops::Range;

use super::arrays::SpgemmArrays;
use super::instructions::SortInstructions;
use super::rows::CpuSpgemmOperands;
use super::tasks::{self, Tasks};
use super::workspace::Workspace;
use crate::{CsrView, Offset, Scalar, parallel};

/// Sampling interval: at most every 31st row. 31 is prime, so a sample does not always hit the same row of
/// repeating blocks of rows.
const SAMPLED_PART: usize = 31;
/// Maximum number of sampled rows.
const MOST_SAMPLED: usize = 1 << 12;
/// Number of sampled rows per task.
const SAMPLED_AT_ONCE: usize = 1 << 7;
/// Factor between the reserved and the expected number of entries of C.
const MARGIN: f64 = 1.06;

/// The product of two matrices with matching shapes, divided into tasks.
pub(crate) struct Spgemm<'a, V, O> {
    pub(super) rows: CpuSpgemmOperands<'a, V, O>,
    pub(super) tasks: Tasks,
    pub(super) instructions: SortInstructions,
}

/// The rows of a task, and its part of an array of entries of C.
type Part<'c, T> = (&'c Range<usize>, &'c mut [T]);

/// Calls `run` for a product with `rows` rows. If there are many, the call runs on a thread of the pool, so that its parallel steps do not
/// each wake that thread up.
pub(crate) fn in_pool<R: Send>(rows: usize, run: impl FnOnce() -> R + Send) -> R {
    if rows <= tasks::ROWS { run() } else { on_pool(run) }
}

/// Calls `run` on a thread of the pool. Rayon's part is compiled once.
fn on_pool<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    fn enter(run: &mut (dyn FnMut() + Send)) {
        rayon::scope(|_| run());
    }
    let (mut run, mut result) = (Some(run), None);
    enter(&mut || result = run.take().map(|run| run()));
    result.expect("the function was called")
}

impl<'a, V: Scalar, O: Offset> Spgemm<'a, V, O> {
    /// Divides the work into tasks.
    ///
    /// # Safety
    /// Both matrices are canonical, and B has a row for each column of A.
    pub(crate) unsafe fn new(a: CsrView<'a, V, O>, b: CsrView<'a, V, O>) -> Self {
        // SAFETY: guaranteed by the caller.
        let (tasks, rows) = unsafe {
            let (tasks, repeated) = Tasks::new(&a, &b);
            (tasks, CpuSpgemmOperands::new(a, b, repeated))
        };
        // Only real numbers are multiplied by vector instructions.
        let instructions =
            if V::IS_COMPLEX { SortInstructions::Portable } else { SortInstructions::fastest() };
        Self { rows, tasks, instructions }
    }

    /// The number of multiplications.
    pub(crate) fn products(&self) -> u64 {
        self.tasks.products
    }

    /// Computes C in one pass. `None` if there is too little memory, or `C` probably cannot count its
    /// entries. If it has more entries than `C` can count after all, row offsets are wrong, but the other
    /// arrays have the right length.
    pub(crate) fn multiply<C: Offset>(&self) -> Option<SpgemmArrays<V, C>> {
        // Few rows may have many products. Then the caller is not on a thread of the pool yet: see
        // [`in_pool`].
        if self.tasks.ranges.len() > 1 {
            return on_pool(|| self.run_tasks());
        }
        self.run_tasks()
    }

    fn run_tasks<C: Offset>(&self) -> Option<SpgemmArrays<V, C>> {
        let mut arrays = SpgemmArrays::new(self.rows.len())?;
        let tasks = &self.tasks.ranges;
        // This few tasks wait for each other.
        let all_wait = tasks.len() <= 2 * rayon::current_num_threads();
        let mut expected = if all_wait { 0 } else { self.expected_entries() };
        let mut ended = 0;
        while ended < tasks.len() {
            // A result that cannot be counted is not computed.
            C::try_from_usize(arrays.values.len() + expected)?;
            arrays.reserve(expected)?;
            let left = &tasks[ended..];
            ended += arrays.run(left, all_wait, |task, workspace| {
                self.rows.compute(left[task].clone(), workspace, self.instructions);
            })?;
            // Tasks have about equal numbers of products.
            let of_task = arrays.values.len() as f64 / ended.max(1) as f64;
            expected = (of_task * (tasks.len() - ended) as f64 * MARGIN) as usize;
        }
        arrays.shrink();
        Some(arrays)
    }

    /// Expected number of entries of C, from a sample of its rows.
    fn expected_entries(&self) -> usize {
        let step = SAMPLED_PART.max(self.rows.len() / MOST_SAMPLED);
        let chunks = self.rows.len().div_ceil(step * SAMPLED_AT_ONCE);
        let samples = map_tasks((0..chunks).collect(), |chunk, workspace| {
            let (mut products, mut entries) = (0, 0);
            for row in (chunk * SAMPLED_AT_ONCE..(chunk + 1) * SAMPLED_AT_ONCE).map(|sample| sample * step) {
                if row < self.rows.len() {
                    self.rows.compute(row..row + 1, workspace, self.instructions);
                    products += self.rows.count_products(row);
                    entries += workspace.block.columns().len();
                }
            }
            (products, entries)
        });
        let (products, entries) = samples.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let share = (entries as f64 / products.max(1) as f64 * MARGIN).min(1.0);
        (self.tasks.most_entries as f64).min(self.tasks.products as f64 * share) as usize
    }

    /// The row offsets of C.
    pub(crate) fn row_offsets(&self) -> Vec<u64> {
        let lengths = map_tasks(self.tasks.ranges.iter().collect(), |task, workspace| {
            self.rows.compute(task.clone(), workspace, self.instructions);
            workspace.block.lengths().collect::<Vec<u64>>()
        });
        let mut end = 0;
        let ends = lengths.iter().flatten().map(|length| {
            end += length;
            end
        });
        std::iter::once(0).chain(ends).collect()
    }

    /// Writes the columns and values of C, given its row offsets.
    pub(crate) fn fill(&self, row_offsets: &[u64], column_indices: &mut [u32], values: &mut [V]) {
        let parts = self.split(row_offsets, column_indices).into_iter();
        let parts = parts.zip(self.split(row_offsets, values)).collect();
        map_tasks(parts, |((task, column_indices), (_, values)): (Part<'_, u32>, Part<'_, V>), workspace| {
            self.rows.compute(task.clone(), workspace, self.instructions);
            let block = &workspace.block;
            column_indices.copy_from_slice(block.columns());
            values.copy_from_slice(block.values());
        });
    }

    /// Writes the values of C, given its row offsets.
    pub(crate) fn fill_values(&self, row_offsets: &[u64], values: &mut [V]) {
        map_tasks(self.split(row_offsets, values), |(task, values), workspace| {
            self.rows.compute(task.clone(), workspace, self.instructions);
            values.copy_from_slice(workspace.block.values());
        });
    }

    /// Splits an array of entries of C by task.
    fn split<'c, T>(&'c self, row_offsets: &[u64], mut items: &'c mut [T]) -> Vec<Part<'c, T>> {
        let part = |task: &'c Range<usize>| {
            let len = row_offsets[task.end] - row_offsets[task.start];
            let (part, rest) = std::mem::take(&mut items).split_at_mut(len as usize);
            items = rest;
            (task, part)
        };
        self.tasks.ranges.iter().map(part).collect()
    }
}

/// Runs a function for each task, with its thread's workspace.
fn map_tasks<V: Scalar, T: Send, R: Send>(
    tasks: Vec<T>,
    run: impl Fn(T, &mut Workspace<V>) -> R + Sync,
) -> Vec<R> {
    parallel::map_each(tasks, |task| Workspace::lend(|workspace| run(task, workspace)))
}
