//! Element-wise operations on two sparse matrices, by merging their rows in parallel: count, then write.

use rayon::prelude::*;

use crate::matrix::{row_blocks, split};
use crate::operation::{Elementwise, scaled};
use crate::{Offset, Value};

/// The patterns of two canonical matrices with equally many rows, and the operation.
pub(crate) struct RowMerge<'m, O> {
    pub(crate) operation: Elementwise,
    pub(crate) a: (&'m [O], &'m [u32]),
    pub(crate) b: (&'m [O], &'m [u32]),
}

/// An entry of the result, as the index of a nonzero of A, of B, or of both.
#[derive(Clone, Copy)]
enum Entry {
    A(usize),
    B(usize),
    Pair(usize, usize),
}

/// The minimum number of rows per task when counting.
const LEAST_ROWS: usize = 1 << 10;

impl<O: Offset> RowMerge<'_, O> {
    fn rows(&self) -> usize {
        self.a.0.len() - 1
    }

    /// The number of entries in each row of the result.
    pub(crate) fn counts(&self) -> Vec<u64> {
        let count = |row| {
            let mut entries = 0;
            self.merge(row, |_| entries += 1);
            entries
        };
        (0..self.rows()).into_par_iter().with_min_len(LEAST_ROWS).map(count).collect()
    }

    /// Writes the column indices of the result, given its row offsets.
    pub(crate) fn write_columns(&self, offsets: &[O], columns: &mut [u32]) {
        self.write(offsets, columns, |entry| match entry {
            Entry::A(a) | Entry::Pair(a, _) => self.a.1[a],
            Entry::B(b) => self.b.1[b],
        });
    }

    /// Writes the values of the result, given its row offsets.
    pub(crate) fn write_values<V: Value>(
        &self,
        (a, b): (&[V], &[V]),
        (alpha, beta): (V, V),
        offsets: &[O],
        values: &mut [V],
    ) {
        self.write(offsets, values, |entry| match entry {
            Entry::A(at) => scaled(alpha, a[at]),
            Entry::B(at) => scaled(beta, b[at]),
            Entry::Pair(a_at, b_at) => self.operation.pair(scaled(alpha, a[a_at]), scaled(beta, b[b_at])),
        });
    }

    fn write<T: Send>(&self, offsets: &[O], items: &mut [T], item: impl Fn(Entry) -> T + Sync) {
        let blocks = row_blocks(offsets);
        split(&blocks, offsets, items).into_par_iter().for_each(|(rows, items)| {
            let mut items = items.iter_mut();
            for row in rows {
                self.merge(row, |entry| {
                    if let Some(slot) = items.next() {
                        *slot = item(entry);
                    }
                });
            }
        });
    }

    /// Merges a row and passes the entries that the operation keeps to `keep`.
    fn merge(&self, row: usize, mut keep: impl FnMut(Entry)) {
        let operation = self.operation;
        let (mut a, a_end) = (self.a.0[row].to_usize(), self.a.0[row + 1].to_usize());
        let (mut b, b_end) = (self.b.0[row].to_usize(), self.b.0[row + 1].to_usize());
        while a < a_end && b < b_end {
            let (a_column, b_column) = (self.a.1[a], self.b.1[b]);
            if a_column == b_column {
                if operation.keeps_pairs() {
                    keep(Entry::Pair(a, b));
                }
            } else if a_column < b_column {
                if operation.keeps_a() {
                    keep(Entry::A(a));
                }
            } else if operation.keeps_b() {
                keep(Entry::B(b));
            }
            a += usize::from(a_column <= b_column);
            b += usize::from(b_column <= a_column);
        }
        if operation.keeps_a() {
            (a..a_end).for_each(|a| keep(Entry::A(a)));
        }
        if operation.keeps_b() {
            (b..b_end).for_each(|b| keep(Entry::B(b)));
        }
    }
}

/// Writes the row offsets, one more than rows, for these entry counts.
pub(crate) fn write_row_offsets<O: Offset>(counts: &[u64], offsets: &mut [O]) {
    let mut end = 0;
    offsets[0] = O::ZERO;
    for (offset, &count) in offsets[1..].iter_mut().zip(counts) {
        end += count as usize;
        let Some(end) = O::try_from_usize(end) else { unreachable!("the sum of all counts fits") };
        *offset = end;
    }
}
