//! Products in semirings, row by row.

use std::ops::Range;

use crate::matrix::CsrView;
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

/// A row of C while it is summed: for each column the number of the row that last had it, and its sum.
struct RowSums<V> {
    last: Vec<u32>,
    sums: Vec<V>,
}

impl<V: Entry> RowSums<V> {
    /// Room for `cols` columns; `sums` is false to find columns alone.
    fn new(cols: usize, sums: bool) -> Self {
        let zero = V::default();
        // No row has the number that none has yet: it would be the last of 2³² rows.
        Self { last: vec![u32::MAX; cols], sums: if sums { vec![zero; cols] } else { Vec::new() } }
    }
}

impl<'a, V: Entry, O: Offset> SemiringProduct<'a, V, O> {
    pub(crate) fn new(a: CsrView<'a, V, O>, b: CsrView<'a, V, O>) -> Self {
        Self { a, b }
    }

    /// Returns the row offsets of C.
    pub(crate) fn row_offsets(&self) -> Vec<u64> {
        let mut offsets = vec![0; self.a.nrows() + 1];
        parallel::parts_mut(&mut offsets[1..], self.least_rows(), |rows, lengths| {
            let mut seen = RowSums::<V>::new(self.b.ncols(), false);
            for (row, length) in rows.zip(lengths) {
                self.each_column(row, |_, column| {
                    let last = &mut seen.last[column as usize];
                    *length += u64::from(*last != row as u32);
                    *last = row as u32;
                });
            }
        });
        let mut total = 0;
        for offset in &mut offsets {
            total += *offset;
            *offset = total;
        }
        offsets
    }

    /// Writes the columns and the values of C.
    pub(crate) fn fill<S: Semiring<V>>(&self, row_offsets: &[u64], columns: &mut [u32], values: &mut [V]) {
        parallel::for_each(self.tasks(row_offsets, columns, values), |Task { rows, columns, values }| {
            let mut row_sums = RowSums::<V>::new(self.b.ncols(), true);
            let first = row_offsets[rows.start];
            for row in rows {
                let range = (row_offsets[row] - first) as usize..(row_offsets[row + 1] - first) as usize;
                let columns = &mut columns[range.clone()];
                let mut len = 0;
                self.each_product(row, |column, left, right| {
                    let place = column as usize;
                    if row_sums.last[place] != row as u32 {
                        row_sums.last[place] = row as u32;
                        row_sums.sums[place] = S::ZERO;
                        columns[len] = column;
                        len += 1;
                    }
                    row_sums.sums[place] = S::multiply_add(left, right, row_sums.sums[place]);
                });
                columns.sort_unstable();
                for (&column, value) in columns.iter().zip(&mut values[range]) {
                    *value = row_sums.sums[column as usize];
                }
            }
        });
    }

    /// Writes the values of C for a pattern that is given; products elsewhere are left out.
    pub(crate) fn fill_pattern<S: Semiring<V>>(&self, row_offsets: &[O], columns: &[u32], values: &mut [V]) {
        let offsets: Vec<u64> = row_offsets.iter().map(|offset| offset.to_u64()).collect();
        let mut no_columns = [];
        parallel::for_each(self.tasks(&offsets, &mut no_columns, values), |Task { rows, values, .. }| {
            let mut row_sums = RowSums::<V>::new(self.b.ncols(), true);
            let first = offsets[rows.start];
            for row in rows {
                let columns = &columns[offsets[row] as usize..offsets[row + 1] as usize];
                for &column in columns {
                    row_sums.last[column as usize] = row as u32;
                    row_sums.sums[column as usize] = S::ZERO;
                }
                self.each_product(row, |column, left, right| {
                    let place = column as usize;
                    if row_sums.last[place] == row as u32 {
                        row_sums.sums[place] = S::multiply_add(left, right, row_sums.sums[place]);
                    }
                });
                let values =
                    &mut values[(offsets[row] - first) as usize..(offsets[row + 1] - first) as usize];
                for (&column, value) in columns.iter().zip(values) {
                    *value = row_sums.sums[column as usize];
                }
            }
        });
    }

    /// Calls `visit` with the position in A and the column of each product of a row of C.
    fn each_column(&self, row: usize, mut visit: impl FnMut(usize, u32)) {
        for position in self.a.range(row) {
            for &column in &self.b.column_indices()[self.b.range(self.inner(position))] {
                visit(position, column);
            }
        }
    }

    /// Calls `visit` with the column and the factors of each product of a row of C, in the order of A's entries.
    fn each_product(&self, row: usize, mut visit: impl FnMut(u32, V, V)) {
        for position in self.a.range(row) {
            let left = self.a.values()[position];
            for other in self.b.range(self.inner(position)) {
                visit(self.b.column_indices()[other], left, self.b.values()[other]);
            }
        }
    }

    /// Returns the row of B that an entry of A multiplies.
    fn inner(&self, position: usize) -> usize {
        self.a.column_indices()[position] as usize
    }

    /// Returns the rows of a task at least: few tasks, because each has an element per column.
    fn least_rows(&self) -> usize {
        (self.a.nrows() / (4 * rayon::current_num_threads())).max(ROWS)
    }

    /// Divides C into tasks with about as many entries each; `columns` may be empty.
    fn tasks<'c>(
        &self,
        row_offsets: &[u64],
        mut columns: &'c mut [u32],
        mut values: &'c mut [V],
    ) -> Vec<Task<'c, V>> {
        let rows = self.a.nrows();
        let (count, total) = (rows.div_ceil(self.least_rows()), row_offsets[rows]);
        let has_columns = !columns.is_empty();
        let (mut tasks, mut start) = (Vec::with_capacity(count), 0);
        for task in 1..=count {
            let wanted = (u128::from(total) * task as u128 / count as u128) as u64;
            let end =
                if task == count { rows } else { row_offsets.partition_point(|&offset| offset < wanted) };
            let end = end.clamp(start, rows);
            let len = (row_offsets[end] - row_offsets[start]) as usize;
            let (own, rest) = values.split_at_mut(len);
            let (own_columns, rest_columns) = columns.split_at_mut(if has_columns { len } else { 0 });
            tasks.push(Task { rows: start..end, columns: own_columns, values: own });
            (values, columns, start) = (rest, rest_columns, end);
        }
        tasks.retain(|task| !task.rows.is_empty());
        tasks
    }
}
