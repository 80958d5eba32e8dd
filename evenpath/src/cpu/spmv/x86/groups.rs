//! Sums of several rows whose columns follow from those of the first, with AVX2.

use super::Lanes;
use super::avx2::{Avx2Rows, QUAD, prefetch};

/// Prefetching distance in nonzeros: a group's rows are read in parallel, which hardware prefetchers do not
/// follow.
const AHEAD: usize = 512;
/// Minimum length of rows that hardware prefetchers follow.
pub(in super::super) const LONG: usize = 2 * AHEAD;

/// Consecutive rows of equal length.
#[derive(Clone, Copy)]
pub(in super::super) struct EvenRows {
    /// The first nonzero.
    pub(in super::super) start: usize,
    /// Number of nonzeros per row.
    pub(in super::super) length: usize,
}

/// Consecutive rows with the same columns.
#[derive(Clone, Copy)]
pub(in super::super) struct EqualRows<'a> {
    pub(in super::super) rows: EvenRows,
    /// Starts with the shared columns: those of the matrix, starting at the group's first row, or a copy.
    pub(in super::super) columns: &'a [u32],
    /// True if the matrix's columns ahead are prefetched, as those of the next groups.
    pub(in super::super) fetches_columns: bool,
}

impl EvenRows {
    /// The rows after the first `count`.
    #[inline]
    pub(in super::super) fn after(self, count: usize) -> Self {
        Self { start: self.start + count * self.length, ..self }
    }
}

impl<V: Lanes> Avx2Rows<'_, V> {
    /// Sums `ROWS` rows with the same columns.
    ///
    /// # Safety
    /// The same as for all functions of [`Avx2Rows`].
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(in super::super) unsafe fn equal_rows<const ROWS: usize>(&self, equal: EqualRows<'_>) -> [V; ROWS] {
        let EqualRows { rows, columns, fetches_columns } = equal;
        let EvenRows { start, length } = rows;
        // SAFETY: guaranteed by the caller: whole vectors are within the rows.
        unsafe {
            let (columns, x) = (columns.as_ptr(), self.x.as_ptr());
            let values = |row: usize, at: usize| self.values.as_ptr().add(rows.after(row).start + at);
            let mut wide = [V::zero_wide(); ROWS];
            let mut at = 0;
            while at + V::WIDE <= length {
                let x = V::pick_wide(columns.add(at), x);
                let next = start + at * ROWS + AHEAD;
                if fetches_columns {
                    prefetch(self.columns, next);
                }
                for (row, sum) in wide.iter_mut().enumerate() {
                    prefetch(self.values, next + row * V::WIDE);
                    *sum = V::multiply_add_wide(V::load_wide(values(row, at)), x, *sum);
                }
                at += V::WIDE;
            }
            let mut sums = wide.map(|sum| V::fold(sum));
            while at + QUAD <= length {
                let x = V::pick(columns.add(at), x);
                for (row, sum) in sums.iter_mut().enumerate() {
                    *sum = V::multiply_add(values(row, at), x, *sum);
                }
                at += QUAD;
            }
            if at < length {
                self.add_rest(equal, at, &mut sums);
            }
            sums.map(|sum| V::total(sum))
        }
    }

    /// Adds the products starting at `at`, fewer than four per row.
    ///
    /// # Safety
    /// The same as above.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn add_rest<const ROWS: usize>(
        &self,
        EqualRows { rows, columns, .. }: EqualRows<'_>,
        at: usize,
        sums: &mut [V::Quad; ROWS],
    ) {
        let first = |row: usize| rows.after(row).start + at;
        let count = rows.length - at;
        // SAFETY: guaranteed by the caller; there are four entries starting at the last row's `at`, and four
        // columns, or it is not read.
        unsafe {
            if first(ROWS - 1) + QUAD > self.columns.len() {
                for (row, sum) in sums.iter_mut().enumerate() {
                    *sum = V::add_quads(*sum, self.products(first(row), count));
                }
                return;
            }
            let x = V::pick(columns.as_ptr().add(at), self.x.as_ptr());
            for (row, sum) in sums.iter_mut().enumerate() {
                let products = V::products(self.values.as_ptr().add(first(row)), x, count);
                *sum = V::add_quads(*sum, products);
            }
        }
    }

    /// Sums as many rows as there are lanes. Their columns are those of the row that starts at `first`, plus
    /// `shift`, plus one for each row.
    ///
    /// # Safety
    /// The same as above.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(in super::super) unsafe fn shifted_rows(
        &self,
        first: usize,
        shift: usize,
        rows: EvenRows,
    ) -> V::Wide {
        let EvenRows { start, length } = rows;
        // SAFETY: guaranteed by the caller: `at` is below the length, and the last lane's column is one of the last row.
        unsafe {
            let x = |at: usize| V::load_wide(self.x.as_ptr().add(self.columns[first + at] as usize + shift));
            let values = self.values.as_ptr().add(start);
            let mut sums = [V::zero_wide(); 2];
            let mut at = 0;
            while at + QUAD <= length {
                let next = start + at * V::WIDE + AHEAD;
                prefetch(self.values, next);
                prefetch(self.values, next + QUAD / 2 * V::WIDE);
                for (index, values) in V::transposed(values.add(at), length).into_iter().enumerate() {
                    sums[index % 2] = V::multiply_add_wide(values, x(at + index), sums[index % 2]);
                }
                at += QUAD;
            }
            if at + 1 < length && length > QUAD {
                // The last four columns, of which the first have been added.
                let last = length - QUAD;
                for (index, values) in V::transposed(values.add(last), length).into_iter().enumerate() {
                    if last + index >= at {
                        sums[index % 2] = V::multiply_add_wide(values, x(last + index), sums[index % 2]);
                    }
                }
                at = length;
            }
            while at < length {
                sums[at % 2] = V::multiply_add_wide(V::strided(values.add(at), length), x(at), sums[at % 2]);
                at += 1;
            }
            V::add_wide(sums[0], sums[1])
        }
    }
}
