//! `C = A B` of sparse matrices, a row of C after the other (Gustavson, "Two fast algorithms for sparse matrices", 1978).
//!
//! A row of C is the sum of the rows of B that the row of A names, in its order, so results do not depend on the number of
//! threads.

use std::ops::Range;

use rayon::prelude::*;

use crate::{CsrView, Offset, Value};

/// Products and rows of a task, about.
const TASK: u64 = 1 << 16;

/// The product of two matrices whose shapes fit, as far as rows and their lengths.
pub(crate) struct Spgemm<'a, V, O> {
    a: CsrView<'a, V, O>,
    b: CsrView<'a, V, O>,
    /// Consecutive rows of about equal work, each a task.
    tasks: Vec<Range<usize>>,
    products: u64,
}

impl<'a, V: Value, O: Offset> Spgemm<'a, V, O> {
    /// Cuts the work into tasks.
    pub(crate) fn new(a: CsrView<'a, V, O>, b: CsrView<'a, V, O>) -> Self {
        let work: Vec<u64> = (0..a.rows())
            .into_par_iter()
            .with_min_len(256)
            .map(|row| columns(a, row).iter().map(|&k| b.range(k as usize).len() as u64).sum::<u64>())
            .collect();
        let mut tasks = Vec::new();
        let (mut start, mut sum) = (0, 0);
        for (row, work) in work.iter().enumerate() {
            sum += work + 1;
            if sum >= TASK {
                tasks.push(start..row + 1);
                (start, sum) = (row + 1, 0);
            }
        }
        tasks.push(start..a.rows());
        Self { a, b, tasks, products: work.iter().sum() }
    }

    /// Multiplications.
    pub(crate) fn products(&self) -> u64 {
        self.products
    }

    /// Where the rows of C begin, and its entries at the end.
    pub(crate) fn row_offsets(&self) -> Vec<u64> {
        let lengths: Vec<Vec<u64>> = self
            .tasks
            .par_iter()
            .map_init(
                || vec![u32::MAX; self.b.cols()],
                |last_row, task| task.clone().map(|row| self.count_row(row, last_row)).collect(),
            )
            .collect();
        let mut end = 0;
        let ends = lengths.into_iter().flatten().map(|length| {
            end += length;
            end
        });
        std::iter::once(0).chain(ends).collect()
    }

    /// Distinct columns of a row of C; `last_row` has for each column the last row that had it.
    fn count_row(&self, row: usize, last_row: &mut [u32]) -> u64 {
        let mut count = 0;
        for &k in columns(self.a, row) {
            for &column in columns(self.b, k as usize) {
                let last = &mut last_row[column as usize];
                count += u64::from(*last != row as u32);
                *last = row as u32;
            }
        }
        count
    }

    /// Fills C, whose rows begin at `row_offsets`, with columns and values.
    pub(crate) fn fill(&self, row_offsets: &[u64], column_indices: &mut [u32], values: &mut [V]) {
        let parts = self.split(row_offsets, column_indices).into_par_iter();
        let parts = parts.zip(self.split(row_offsets, values)).zip(&self.tasks);
        parts.for_each_init(
            || Accumulator::new(self.b.cols()),
            |sums, ((column_indices, values), task)| {
                let base = row_offsets[task.start];
                for row in task.clone() {
                    let range = (row_offsets[row] - base) as usize..(row_offsets[row + 1] - base) as usize;
                    let columns = &mut column_indices[range.clone()];
                    let mut count = 0;
                    self.add_row(row, sums, |column| {
                        columns[count] = column;
                        count += 1;
                    });
                    columns.sort_unstable();
                    sums.take(columns, &mut values[range]);
                }
            },
        );
    }

    /// Fills the values of a matrix with the given pattern: the product's entries there, and zero where it has none.
    pub(crate) fn fill_pattern<P: Offset>(
        &self,
        row_offsets: &[P],
        column_indices: &[u32],
        values: &mut [V],
    ) {
        let row_offsets: Vec<u64> = row_offsets.iter().map(|offset| offset.to_u64()).collect();
        let parts = self.split(&row_offsets, values).into_par_iter().zip(&self.tasks);
        parts.for_each_init(
            || (Accumulator::new(self.b.cols()), Vec::new()),
            |(sums, touched), (values, task)| {
                let base = row_offsets[task.start];
                for row in task.clone() {
                    let range = row_offsets[row] as usize..row_offsets[row + 1] as usize;
                    self.add_row(row, sums, |column| touched.push(column));
                    let own = range.start - base as usize..range.end - base as usize;
                    sums.take(&column_indices[range], &mut values[own]);
                    for column in touched.drain(..) {
                        sums.forget(column);
                    }
                }
            },
        );
    }

    /// Adds up a row of C, and tells of each column that is new.
    fn add_row(&self, row: usize, sums: &mut Accumulator<V>, mut new: impl FnMut(u32)) {
        for entry in self.a.range(row) {
            let (k, factor) = (self.a.column_indices()[entry] as usize, self.a.values()[entry]);
            for entry in self.b.range(k) {
                let column = self.b.column_indices()[entry];
                if sums.add(column, factor * self.b.values()[entry]) {
                    new(column);
                }
            }
        }
    }

    /// Cuts an array of C's entries along with the tasks.
    fn split<'c, T>(&self, row_offsets: &[u64], mut items: &'c mut [T]) -> Vec<&'c mut [T]> {
        let part = |task: &Range<usize>| {
            let len = row_offsets[task.end] - row_offsets[task.start];
            let (part, rest) = std::mem::take(&mut items).split_at_mut(len as usize);
            items = rest;
            part
        };
        self.tasks.iter().map(part).collect()
    }
}

/// The columns of a row.
fn columns<'a, V: Value, O: Offset>(matrix: CsrView<'a, V, O>, row: usize) -> &'a [u32] {
    &matrix.column_indices()[matrix.range(row)]
}

/// Sums of one row, a place a column.
struct Accumulator<V> {
    sums: Vec<V>,
    present: Vec<bool>,
}

impl<V: Value> Accumulator<V> {
    fn new(columns: usize) -> Self {
        Self { sums: vec![V::default(); columns], present: vec![false; columns] }
    }

    /// Adds to a column; whether it had nothing yet.
    fn add(&mut self, column: u32, product: V) -> bool {
        let column = column as usize;
        if self.present[column] {
            self.sums[column] += product;
            return false;
        }
        self.present[column] = true;
        self.sums[column] = product;
        true
    }

    /// Moves out the sums of some columns, zero where there is none.
    fn take(&mut self, columns: &[u32], values: &mut [V]) {
        for (&column, value) in columns.iter().zip(values) {
            let present = std::mem::take(&mut self.present[column as usize]);
            *value = if present { self.sums[column as usize] } else { V::default() };
        }
    }

    fn forget(&mut self, column: u32) {
        self.present[column as usize] = false;
    }
}
