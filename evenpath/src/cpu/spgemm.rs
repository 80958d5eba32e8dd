//! `C = A B` of sparse matrices, row by row of C (Gustavson, "Two fast algorithms for sparse matrices", 1978).
//!
//! A row of C is the sum of the rows of B that the row of A selects, in that order, so results do not depend on the number
//! of threads.

use std::ops::Range;

use parking_lot::Mutex;
use rayon::prelude::*;

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
                    let rows_of_b = columns(self.a, row).iter();
                    sums.count(rows_of_b.flat_map(|&k| columns(self.b, k as usize)).copied())
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
                    // Rows are contiguous and have the counted number of entries.
                    sums.sum(self.products_of(row), |column, sum| {
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
                    sums.sum(self.products_of(row), |column, sum| {
                        place += wanted[place..].partition_point(|&wanted| wanted < column);
                        if wanted.get(place) == Some(&column) {
                            values[place] = sum;
                        }
                    });
                }
            });
        });
    }

    /// The products of a row of C with their columns, in the order of addition.
    fn products_of(&self, row: usize) -> impl Iterator<Item = (u32, V)> {
        self.a.range(row).flat_map(move |entry| {
            let (k, left) = (self.a.column_indices()[entry] as usize, self.a.values()[entry]);
            let right = self.b.range(k);
            let columns = self.b.column_indices()[right.clone()].iter();
            columns.zip(&self.b.values()[right]).map(move |(&column, &right)| (column, left * right))
        })
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

/// The maximum number of columns of B for an accumulator with one sum per column.
const MOST_PLACES: usize = 1 << 22;

/// Columns up to which they are sorted. More are found by looking through the places between the first and the last, unless there are
/// more groups of places than columns.
const SORTED: usize = 20;
/// Places in a group.
const FLAGS: usize = 64;

/// A set of columns.
struct Columns {
    /// 1 for those in the set; a multiple of [`FLAGS`] places.
    is_used: Vec<u8>,
    /// Those in the set, in the order in which they came.
    list: Vec<u32>,
}

impl Columns {
    fn new(columns: usize) -> Self {
        Self { is_used: vec![0; columns.next_multiple_of(FLAGS)], list: Vec::new() }
    }

    /// Adds a column; whether it was not in the set.
    #[inline]
    fn insert(&mut self, column: u32) -> bool {
        let is_new = std::mem::replace(&mut self.is_used[column as usize], 1) == 0;
        if is_new {
            self.list.push(column);
        }
        is_new
    }

    /// Empties the set; how many columns it had.
    fn clear(&mut self) -> u64 {
        for &column in &self.list {
            self.is_used[column as usize] = 0;
        }
        let count = self.list.len();
        self.list.clear();
        count as u64
    }

    /// Empties the set; calls `tell` with its columns, ascending.
    fn drain(&mut self, mut tell: impl FnMut(u32)) {
        let (Some(&first), Some(&last)) = (self.list.iter().min(), self.list.iter().max()) else { return };
        let groups = first as usize / FLAGS..last as usize / FLAGS + 1;
        if self.list.len() <= SORTED || groups.len() > self.list.len() {
            self.list.sort_unstable();
            self.list.iter().copied().for_each(tell);
            self.clear();
            return;
        }
        for group in groups {
            let flags = &mut self.is_used[group * FLAGS..][..FLAGS];
            let mut left = bits_of(flags);
            flags.fill(0);
            while left != 0 {
                tell((group * FLAGS) as u32 + left.trailing_zeros());
                left &= left - 1;
            }
        }
        self.list.clear();
    }
}

/// A bit for each of [`FLAGS`] bytes that are 0 or 1.
fn bits_of(flags: &[u8]) -> u64 {
    // A product with this puts the lowest bits of eight bytes side by side in the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let bytes = flags.as_chunks::<8>().0.iter().enumerate();
    bytes.fold(0, |bits, (at, &eight)| {
        bits | (u64::from_le_bytes(eight).wrapping_mul(GATHER) >> 56) << (8 * at)
    })
}

/// Accumulators that no task uses. They are as long as a row of C: one for each thread is enough.
struct Idle<V> {
    columns: usize,
    accumulators: Mutex<Vec<Accumulator<V>>>,
}

impl<V: Value> Idle<V> {
    fn new(columns: usize) -> Self {
        Self { columns, accumulators: Mutex::default() }
    }

    /// Lends an accumulator, which is empty, and is empty again when `task` returns.
    fn with<R>(&self, task: impl FnOnce(&mut Accumulator<V>) -> R) -> R {
        let idle = self.accumulators.lock().pop();
        let mut accumulator = idle.unwrap_or_else(|| Accumulator::new(self.columns));
        let result = task(&mut accumulator);
        self.accumulators.lock().push(accumulator);
        result
    }
}

/// An accumulator for one row at a time.
enum Accumulator<V> {
    /// One sum per column, and the columns in use.
    Places { sums: Vec<V>, used: Columns },
    /// The products of the row, to be sorted.
    Products(Vec<(u32, V)>),
}

impl<V: Value> Accumulator<V> {
    fn new(columns: usize) -> Self {
        if columns > MOST_PLACES {
            return Self::Products(Vec::new());
        }
        Self::Places { sums: vec![V::default(); columns], used: Columns::new(columns) }
    }

    /// The number of distinct columns.
    fn count(&mut self, columns: impl Iterator<Item = u32>) -> u64 {
        match self {
            Self::Places { used, .. } => {
                columns.for_each(|column| {
                    used.insert(column);
                });
                used.clear()
            }
            Self::Products(products) => {
                products.clear();
                products.extend(columns.map(|column| (column, V::default())));
                products.sort_unstable_by_key(|&(column, _)| column);
                products.chunk_by(|a, b| a.0 == b.0).count() as u64
            }
        }
    }

    /// Sums products by column, in order, and passes the sums to `tell`, ascending by column.
    fn sum(&mut self, products: impl Iterator<Item = (u32, V)>, mut tell: impl FnMut(u32, V)) {
        match self {
            Self::Places { sums, used } => {
                products.for_each(|(column, product)| {
                    let sum = &mut sums[column as usize];
                    *sum = if used.insert(column) { product } else { *sum + product };
                });
                used.drain(|column| tell(column, sums[column as usize]));
            }
            Self::Products(own) => {
                own.clear();
                own.extend(products);
                // A stable sort keeps the products of a column in order.
                own.sort_by_key(|&(column, _)| column);
                for products in own.chunk_by(|a, b| a.0 == b.0) {
                    let (first, rest) = products.split_first().expect("chunks are not empty");
                    tell(first.0, rest.iter().fold(first.1, |sum, &(_, product)| sum + product));
                }
            }
        }
    }
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

    #[test]
    fn columns_come_out_ascending_whether_few_or_many() {
        let mut columns = Columns::new(1000);
        let sets: [Vec<u32>; 5] = [
            vec![],
            vec![999, 0, 63, 64],
            (0..64).rev().collect(),
            (0..300).map(|i| i * 7 % 1000).collect(),
            (0..21).map(|i| i * 47).rev().collect(),
        ];
        for set in sets.iter().chain(&sets) {
            let new = set.iter().filter(|&&column| columns.insert(column)).count();
            assert!(set.first().is_none_or(|&column| !columns.insert(column)), "it is there");
            let mut found = Vec::new();
            columns.drain(|column| found.push(column));
            let mut expected = set.clone();
            expected.sort_unstable();
            expected.dedup();
            assert_eq!((found.len(), found), (new, expected));
            assert!(columns.list.is_empty() && columns.is_used.iter().all(|&flag| flag == 0));
        }
    }

    #[test]
    fn bits_are_those_of_bytes() {
        for place in 0..FLAGS {
            let mut flags = [0; FLAGS];
            flags[place] = 1;
            assert_eq!(bits_of(&flags), 1 << place);
            assert_eq!(bits_of(&flags.map(|flag| 1 - flag)), !(1 << place));
        }
    }

    #[test]
    fn both_accumulators_give_the_same() {
        let products: Vec<(u32, f64)> =
            (0..500).map(|i| ((i * 37 % 90) as u32, f64::from(i as u16).sin())).collect();
        let columns = || products.iter().map(|&(column, _)| column);
        let mut results = [90, MOST_PLACES + 1].map(|cols| {
            let mut accumulator = Accumulator::<f64>::new(cols);
            let mut sums = Vec::new();
            for _ in 0..2 {
                assert_eq!(accumulator.count(columns()), 90);
                accumulator.sum(products.iter().copied(), |column, sum| sums.push((column, sum.to_bits())));
            }
            sums
        });
        assert_eq!(results[0].len(), 180);
        let other = std::mem::take(&mut results[1]);
        assert_eq!(results[0], other);
    }
}
