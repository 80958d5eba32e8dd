//! Products in semirings, row by row.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::matrix::CsrView;
use crate::memory::try_zeroed;
use crate::semiring::Semiring;
use crate::{Entry, Offset, parallel};

/// Rows that a thread takes at least.
const ROWS: usize = 64;

/// Computes y = Ax, or y = y + Ax if `adds`.
pub(crate) fn semiring_spmv<S: Semiring<V>, V: Entry, O: Offset>(
    a: CsrView<'_, V, O>,
    x: &[V],
    y: &mut [V],
    adds: bool,
) {
    parallel::parts_mut(y, ROWS, |rows, y| {
        for (row, y) in rows.zip(y) {
            let mut sum = S::ZERO;
            for position in a.range(row) {
                let product = S::times(a.values()[position], x[a.column_indices()[position] as usize]);
                sum = S::plus(sum, product);
            }
            *y = if adds { S::plus(*y, sum) } else { sum };
        }
    });
}

/// C = AB of two matrices whose shapes fit.
pub(crate) struct SemiringProduct<'a, V, O> {
    a: CsrView<'a, V, O>,
    b: CsrView<'a, V, O>,
}

/// The part of C that one thread computes.
struct Task<'c, V> {
    rows: Range<usize>,
    columns: &'c mut [u32],
    values: &'c mut [V],
}

impl<'a, V: Entry, O: Offset> SemiringProduct<'a, V, O> {
    pub(crate) fn new((a, b): (CsrView<'a, V, O>, CsrView<'a, V, O>)) -> Self {
        Self { a, b }
    }

    /// Bytes that a task takes for a row of C while it sums it: for each column 1 plus the number of the row that last had it, and its
    /// sum.
    pub(crate) fn row_bytes(&self) -> u64 {
        (self.b.ncols() * (size_of::<u32>() + size_of::<V>())) as u64
    }

    /// Returns the row offsets of C.
    ///
    /// # Errors
    ///
    /// If there is not enough memory.
    pub(crate) fn row_offsets(&self) -> Result<Vec<u64>, ()> {
        let mut offsets = try_zeroed(self.a.nrows() + 1)?;
        let has_failed = AtomicBool::new(false);
        parallel::parts_mut(&mut offsets[1..], self.least_rows(), |rows, lengths| {
            let Ok(mut last) = try_zeroed::<u32>(self.b.ncols()) else {
                has_failed.store(true, Relaxed);
                return;
            };
            for (row, length) in rows.zip(lengths) {
                self.each_product(row, |column, _, _| {
                    let last = &mut last[column as usize];
                    *length += u64::from(*last != row as u32 + 1);
                    *last = row as u32 + 1;
                });
            }
        });
        if has_failed.into_inner() {
            return Err(());
        }
        let mut total = 0;
        for offset in &mut offsets {
            total += *offset;
            *offset = total;
        }
        Ok(offsets)
    }

    /// Writes the columns and the values of C.
    ///
    /// # Errors
    ///
    /// If there is not enough memory.
    pub(crate) fn fill<S: Semiring<V>>(
        &self,
        row_offsets: &[u64],
        columns: &mut [u32],
        values: &mut [V],
    ) -> Result<(), ()> {
        let tasks = self.tasks(row_offsets, columns, values);
        parallel::map_each(tasks, |task| self.fill_rows::<S>(row_offsets, task)).into_iter().collect()
    }

    /// Writes the columns and the values of some rows.
    fn fill_rows<S: Semiring<V>>(&self, row_offsets: &[u64], task: Task<'_, V>) -> Result<(), ()> {
        let Task { rows, columns, values } = task;
        let (mut last, mut sums) = (try_zeroed(self.b.ncols())?, try_zeroed(self.b.ncols())?);
        let first = row_offsets[rows.start];
        for row in rows {
            let range = (row_offsets[row] - first) as usize..(row_offsets[row + 1] - first) as usize;
            let columns = &mut columns[range.clone()];
            let mut len = 0;
            self.each_product(row, |column, left, right| {
                let place = column as usize;
                if last[place] != row as u32 + 1 {
                    last[place] = row as u32 + 1;
                    sums[place] = S::ZERO;
                    columns[len] = column;
                    len += 1;
                }
                sums[place] = S::multiply_add(left, right, sums[place]);
            });
            columns.sort_unstable();
            for (&column, value) in columns.iter().zip(&mut values[range]) {
                *value = sums[column as usize];
            }
        }
        Ok(())
    }

    /// Calls `visit` with the column and the factors of each product of a row of C, in the order of A's entries.
    fn each_product(&self, row: usize, mut visit: impl FnMut(u32, V, V)) {
        for position in self.a.range(row) {
            let left = self.a.values()[position];
            for other in self.b.range(self.a.column_indices()[position] as usize) {
                visit(self.b.column_indices()[other], left, self.b.values()[other]);
            }
        }
    }

    /// Returns the rows of a task at least: few tasks, because each has an element per column.
    fn least_rows(&self) -> usize {
        (self.a.nrows() / (4 * rayon::current_num_threads())).max(ROWS)
    }

    /// Divides C into tasks with about as many entries each.
    fn tasks<'c>(
        &self,
        row_offsets: &[u64],
        mut columns: &'c mut [u32],
        mut values: &'c mut [V],
    ) -> Vec<Task<'c, V>> {
        let rows = self.a.nrows();
        let (count, total) = (rows.div_ceil(self.least_rows()), row_offsets[rows]);
        let (mut tasks, mut start) = (Vec::with_capacity(count), 0);
        for task in 1..=count {
            let wanted = (u128::from(total) * task as u128 / count as u128) as u64;
            let end =
                if task == count { rows } else { row_offsets.partition_point(|&offset| offset < wanted) };
            let end = end.clamp(start, rows);
            let len = (row_offsets[end] - row_offsets[start]) as usize;
            let (own, rest) = values.split_at_mut(len);
            let (own_columns, rest_columns) = columns.split_at_mut(len);
            tasks.push(Task { rows: start..end, columns: own_columns, values: own });
            (values, columns, start) = (rest, rest_columns, end);
        }
        tasks.retain(|task| !task.rows.is_empty());
        tasks
    }
}
