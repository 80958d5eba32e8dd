//! Element-wise operations on two sparse matrices, by merging their rows in parallel: count, then write.

use std::ops::Range;
use std::slice::IterMut;

use crate::matrix::{row_blocks, split, split_both};
use crate::operation::{Elementwise, scaled};
use crate::{Offset, Scalar, parallel};

/// Patterns of two canonical matrices with the same number of rows, and the operation.
pub(crate) struct RowMerge<'m, O> {
    pub(crate) operation: Elementwise,
    pub(crate) a: (&'m [O], &'m [u32]),
    pub(crate) b: (&'m [O], &'m [u32]),
}

/// The minimum number of rows per task when counting.
const LEAST_ROWS: usize = 1 << 10;

impl<O: Offset> RowMerge<'_, O> {
    fn nrows(&self) -> usize {
        self.a.0.len() - 1
    }

    /// The number of entries in each row of the result.
    pub(crate) fn counts(&self) -> Vec<u64> {
        let count = |row| {
            let (a, b) = self.row(row);
            let (a, b) = (&self.a.1[a], &self.b.1[b]);
            let pairs = count_pairs(a, b);
            let of_one =
                |keeps: bool, columns: &[u32]| if keeps { (columns.len() - pairs) as u64 } else { 0 };
            let operation = self.operation;
            let both = if operation.keeps_pairs() { pairs as u64 } else { 0 };
            of_one(operation.keeps_a(), a) + of_one(operation.keeps_b(), b) + both
        };
        parallel::map(self.nrows(), LEAST_ROWS, count)
    }

    /// Writes the column indices of the result, given its row offsets.
    pub(crate) fn write_columns(&self, offsets: &[O], columns: &mut [u32]) {
        let blocks = row_blocks(offsets);
        parallel::for_each(split(&blocks, offsets, columns), |(rows, columns)| {
            self.merge(rows, &mut ColumnWriter { a: self.a.1, b: self.b.1, next: columns.iter_mut() });
        });
    }

    /// Writes the values of the result, given its row offsets.
    pub(crate) fn write_values<V: Scalar>(
        &self,
        operands: (&[V], &[V]),
        factors: (V, V),
        offsets: &[O],
        values: &mut [V],
    ) {
        let blocks = row_blocks(offsets);
        parallel::for_each(split(&blocks, offsets, values), |(rows, values)| {
            self.merge(rows, &mut self.values(operands, factors, values));
        });
    }

    /// Writes column indices and values in one pass.
    pub(crate) fn write<V: Scalar>(
        &self,
        operands: (&[V], &[V]),
        factors: (V, V),
        offsets: &[O],
        (columns, values): (&mut [u32], &mut [V]),
    ) {
        let blocks = row_blocks(offsets);
        parallel::for_each(split_both(&blocks, offsets, columns, values), |(rows, columns, values)| {
            let columns = ColumnWriter { a: self.a.1, b: self.b.1, next: columns.iter_mut() };
            self.merge(rows, &mut (columns, self.values(operands, factors, values)));
        });
    }

    fn values<'v, V: Scalar>(
        &self,
        (a, b): (&'v [V], &'v [V]),
        factors: (V, V),
        values: &'v mut [V],
    ) -> ValueWriter<'v, V> {
        ValueWriter { operation: self.operation, a, b, factors, next: values.iter_mut() }
    }

    /// Ranges of the nonzeros of A and of B in a row.
    fn row(&self, row: usize) -> (Range<usize>, Range<usize>) {
        let of = |offsets: &[O]| offsets[row].to_usize()..offsets[row + 1].to_usize();
        (of(self.a.0), of(self.b.0))
    }

    /// Merges rows and passes on the entries that the operation keeps.
    fn merge(&self, rows: Range<usize>, entries: &mut impl EntrySink) {
        let operation = self.operation;
        for row in rows {
            let (a, b) = self.row(row);
            if operation == Elementwise::Sum {
                self.unite(a, b, entries);
            } else {
                self.select(a, b, entries);
            }
        }
    }

    /// Passes on all entries. Branches on which matrix has the next entry would be mispredicted, so there are
    /// none.
    #[inline]
    fn unite(&self, a: Range<usize>, b: Range<usize>, entries: &mut impl EntrySink) {
        let (a_columns, b_columns) = (&self.a.1[a.clone()], &self.b.1[b.clone()]);
        let (mut at, mut b_at) = (0, 0);
        while at < a_columns.len() && b_at < b_columns.len() {
            let (column, b_column) = (a_columns[at], b_columns[b_at]);
            let (has_a, has_b) = (column <= b_column, b_column <= column);
            entries.push(a.start + at, b.start + b_at, has_a, has_b);
            at += usize::from(has_a);
            b_at += usize::from(has_b);
        }
        (a.start + at..a.end).for_each(|at| entries.push_a(at));
        (b.start + b_at..b.end).for_each(|at| entries.push_b(at));
    }

    /// Passes on the entries of both matrices, or of A alone, according to the operation.
    #[inline]
    fn select(&self, a: Range<usize>, b: Range<usize>, entries: &mut impl EntrySink) {
        let (mut at, mut b_at) = (a.start, b.start);
        while at < a.end && b_at < b.end {
            let (column, b_column) = (self.a.1[at], self.b.1[b_at]);
            if column == b_column && self.operation.keeps_pairs() {
                entries.push(at, b_at, true, true);
            } else if column < b_column && self.operation.keeps_a() {
                entries.push_a(at);
            }
            at += usize::from(column <= b_column);
            b_at += usize::from(b_column <= column);
        }
        if self.operation.keeps_a() {
            (at..a.end).for_each(|at| entries.push_a(at));
        }
    }
}

/// Number of columns that two ascending rows have in common.
fn count_pairs(a: &[u32], b: &[u32]) -> usize {
    let (mut at, mut b_at, mut pairs) = (0, 0, 0);
    while at < a.len() && b_at < b.len() {
        let (column, b_column) = (a[at], b[b_at]);
        pairs += usize::from(column == b_column);
        at += usize::from(column <= b_column);
        b_at += usize::from(b_column <= column);
    }
    pairs
}

/// Receiver of the entries of the result, in order.
trait EntrySink {
    /// Adds an entry: of a nonzero of A, if `has_a`, and of B, if `has_b`. Both indices are valid.
    fn push(&mut self, a: usize, b: usize, has_a: bool, has_b: bool);
    /// Adds an entry of a nonzero of A alone.
    fn push_a(&mut self, a: usize);
    /// Adds an entry of a nonzero of B alone.
    fn push_b(&mut self, b: usize);
}

/// Writes column indices.
struct ColumnWriter<'c> {
    a: &'c [u32],
    b: &'c [u32],
    next: IterMut<'c, u32>,
}

impl EntrySink for ColumnWriter<'_> {
    #[inline]
    fn push(&mut self, a: usize, b: usize, has_a: bool, _: bool) {
        put(&mut self.next, if has_a { self.a[a] } else { self.b[b] });
    }

    #[inline]
    fn push_a(&mut self, a: usize) {
        put(&mut self.next, self.a[a]);
    }

    #[inline]
    fn push_b(&mut self, b: usize) {
        put(&mut self.next, self.b[b]);
    }
}

/// Writes values.
struct ValueWriter<'v, V> {
    operation: Elementwise,
    a: &'v [V],
    b: &'v [V],
    factors: (V, V),
    next: IterMut<'v, V>,
}

impl<V: Scalar> EntrySink for ValueWriter<'_, V> {
    #[inline]
    fn push(&mut self, a: usize, b: usize, has_a: bool, has_b: bool) {
        let (a, b) = (scaled(self.factors.0, self.a[a]), scaled(self.factors.1, self.b[b]));
        let of_one = if has_a { a } else { b };
        put(&mut self.next, if has_a && has_b { self.operation.pair(a, b) } else { of_one });
    }

    #[inline]
    fn push_a(&mut self, a: usize) {
        put(&mut self.next, scaled(self.factors.0, self.a[a]));
    }

    #[inline]
    fn push_b(&mut self, b: usize) {
        put(&mut self.next, scaled(self.factors.1, self.b[b]));
    }
}

/// Both receive every entry.
impl<A: EntrySink, B: EntrySink> EntrySink for (A, B) {
    #[inline]
    fn push(&mut self, a: usize, b: usize, has_a: bool, has_b: bool) {
        self.0.push(a, b, has_a, has_b);
        self.1.push(a, b, has_a, has_b);
    }

    #[inline]
    fn push_a(&mut self, a: usize) {
        self.0.push_a(a);
        self.1.push_a(a);
    }

    #[inline]
    fn push_b(&mut self, b: usize) {
        self.0.push_b(b);
        self.1.push_b(b);
    }
}

/// Writes the next item.
#[inline]
fn put<T>(items: &mut IterMut<'_, T>, item: T) {
    if let Some(next) = items.next() {
        *next = item;
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
