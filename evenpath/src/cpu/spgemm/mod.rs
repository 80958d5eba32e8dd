//! `C = A B` of sparse matrices, row by row of C (Gustavson, "Two fast algorithms for sparse matrices", 1978).
//!
//! A row of C is the sum of the rows of B that the row of A selects, in that order, so results do not depend on the number
//! of threads.

mod accumulator;

use std::ops::Range;

use rayon::prelude::*;

use self::accumulator::{Accumulator, Idle};

use crate::{CsrView, Offset, Value};

/// Approximate number of products plus rows per task.
const TASK: u64 = 1 << 16;

/// The product of two matrices with matching shapes, divided into tasks.
pub(crate) struct Spgemm<'a, V, O> {
    a: CsrView<'a, V, O>,
    b: CsrView<'a, V, O>,
    /// Tasks: consecutive rows with about equal work.
    tasks: Vec<Range<usize>>,
    products: u64,
}

impl<'a, V: Value, O: Offset> Spgemm<'a, V, O> {
    /// Divides the work into tasks.
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

    /// The number of multiplications.
    pub(crate) fn products(&self) -> u64 {
        self.products
    }

    /// The row offsets of C.
    pub(crate) fn row_offsets(&self) -> Vec<u64> {
        let idle = Idle::<V>::new(self.b.cols());
        let lengths = self.tasks.par_iter().map(|task| {
            idle.with(|sums| {
                let count = |row| {
                    for &k in columns(self.a, row) {
                        sums.insert(columns(self.b, k as usize));
                    }
                    sums.count()
                };
                task.clone().map(count).collect()
            })
        });
        let lengths: Vec<Vec<u64>> = lengths.collect();
        let mut end = 0;
        let ends = lengths.into_iter().flatten().map(|length| {
            end += length;
            end
        });
        std::iter::once(0).chain(ends).collect()
    }

    /// Writes the columns and values of C, given its row offsets.
    pub(crate) fn fill(&self, row_offsets: &[u64], column_indices: &mut [u32], values: &mut [V]) {
        let parts = self.split(row_offsets, column_indices).into_par_iter();
        let parts = parts.zip(self.split(row_offsets, values)).zip(&self.tasks);
        let idle = Idle::new(self.b.cols());
        parts.for_each(|((column_indices, values), task)| {
            idle.with(|sums| {
                let mut entries = column_indices.iter_mut().zip(values);
                for row in task.clone() {
                    self.add_products(row, sums);
                    // Rows are contiguous and have the counted number of entries.
                    sums.drain(|column, sum| {
                        if let Some((to_column, to_value)) = entries.next() {
                            (*to_column, *to_value) = (column, sum);
                        }
                    });
                }
            });
        });
    }

    /// Writes the values of a matrix with the given pattern: the entries of the product, or zero if it has none there.
    pub(crate) fn fill_pattern<P: Offset>(
        &self,
        row_offsets: &[P],
        column_indices: &[u32],
        values: &mut [V],
    ) {
        let row_offsets: Vec<u64> = row_offsets.iter().map(|offset| offset.to_u64()).collect();
        let parts = self.split(&row_offsets, values).into_par_iter().zip(&self.tasks);
        let idle = Idle::new(self.b.cols());
        parts.for_each(|(values, task)| {
            idle.with(|sums| {
                let base = row_offsets[task.start];
                values.fill(V::default());
                for row in task.clone() {
                    let wanted = &column_indices[row_offsets[row] as usize..row_offsets[row + 1] as usize];
                    let values = &mut values[(row_offsets[row] - base) as usize..][..wanted.len()];
                    // Both are ascending.
                    let mut place = 0;
                    self.add_products(row, sums);
                    sums.drain(|column, sum| {
                        place += wanted[place..].partition_point(|&wanted| wanted < column);
                        if wanted.get(place) == Some(&column) {
                            values[place] = sum;
                        }
                    });
                }
            });
        });
    }

    /// Adds the products of a row of C to an accumulator.
    fn add_products(&self, row: usize, sums: &mut Accumulator<V>) {
        for entry in self.a.range(row) {
            let (k, left) = (self.a.column_indices()[entry] as usize, self.a.values()[entry]);
            let right = self.b.range(k);
            sums.add(left, &self.b.column_indices()[right.clone()], &self.b.values()[right]);
        }
    }

    /// Splits an array of entries of C by task.
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
fn columns<V: Value, O: Offset>(matrix: CsrView<'_, V, O>, row: usize) -> &[u32] {
    &matrix.column_indices()[matrix.range(row)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::generate::{Kind, generate};

    #[test]
    fn results_do_not_depend_on_threads() {
        let a: Csr<f32> = generate(Kind::PowerLaw { rows: 3000 }, 2).unwrap();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let product = Spgemm::new(a.view(), a.view());
                let row_offsets = product.row_offsets();
                let len = *row_offsets.last().unwrap() as usize;
                let (mut columns, mut values) = (vec![0; len], vec![0.0_f32; len]);
                product.fill(&row_offsets, &mut columns, &mut values);
                (columns, values.into_iter().map(f32::to_bits).collect::<Vec<_>>())
            })
        };
        let alone = run(1);
        assert!([2, 3, 8].iter().all(|&threads| run(threads) == alone));
    }
}
