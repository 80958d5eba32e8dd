use std::ops::Range;

use super::super::triangular::Triangle;
use super::super::vector::sum_by_halves;
use crate::{CsrView, Offset, Scalar, parallel};

/// Partial sums of an inner product: the lanes of a warp.
const LANES: usize = 32;
/// Minimum number of rows of a task.
const ROWS: usize = 1 << 7;

/// The rows of a canonical matrix, and its lower triangle.
pub(crate) struct FactorizedRows<'a, O> {
    pub(crate) row_offsets: &'a [O],
    pub(crate) column_indices: &'a [u32],
    pub(crate) triangle: &'a Triangle<O>,
}

impl<O: Offset> FactorizedRows<'_, O> {
    /// Copies the values of a matrix's lower triangle, for the rows of L.
    pub(crate) fn copy_lower<V: Scalar>(&self, a: CsrView<'_, V, O>, factor: &mut [V]) {
        for row in 0..self.count() {
            let (entries, from) = (self.entries(row), a.row_offsets()[row].to_usize());
            let len = entries.len();
            factor[entries].copy_from_slice(&a.values()[from..from + len]);
        }
    }

    /// Number of rows.
    fn count(&self) -> usize {
        self.triangle.rows()
    }

    /// The entries of a row.
    pub(super) fn entries(&self, row: usize) -> Range<usize> {
        self.row_offsets[row].to_usize()..self.row_offsets[row + 1].to_usize()
    }

    /// The place of the diagonal of a row.
    pub(super) fn diagonal(&self, row: usize) -> usize {
        self.triangle.diagonal(row)
    }

    /// Returns the place of a column among consecutive entries of a row.
    pub(super) fn find(&self, column: u32, among: Range<usize>) -> Option<usize> {
        let at = self.column_indices[among.clone()].binary_search(&column).ok()?;
        Some(among.start + at)
    }

    /// Factorizes all rows, one after the other or, where levels are wide, those of a level in parallel. `factorize` gets a row, the
    /// values of the factors, of which those of earlier levels are computed, and the row's own values; it returns whether the pivot is
    /// valid. Returns the first row for which it is not.
    pub(super) fn factorize<V: Scalar>(
        &self,
        factors: &mut [V],
        factorize: impl Fn(usize, &[V], &mut [V]) -> bool + Sync,
    ) -> Option<usize> {
        let Some(levels) = self.triangle.wide_levels().filter(|_| rayon::current_num_threads() > 1) else {
            let mut breakdown = None;
            for row in 0..self.count() {
                let entries = self.entries(row);
                let (before, from) = factors.split_at_mut(entries.start);
                let is_valid = factorize(row, before, &mut from[..entries.len()]);
                breakdown = breakdown.or((!is_valid).then_some(row));
            }
            return breakdown;
        };
        let mut breakdown = None;
        for rows in levels {
            let values = &*factors;
            let computed = parallel::map(rows.len(), ROWS, |at| {
                let row = rows[at] as usize;
                let mut own = values[self.entries(row)].to_vec();
                let is_valid = factorize(row, values, &mut own);
                (own, is_valid)
            });
            for (&row, (own, is_valid)) in rows.iter().zip(computed) {
                factors[self.entries(row as usize)].copy_from_slice(&own);
                let first = breakdown.unwrap_or(u32::MAX).min(row);
                breakdown = if is_valid { breakdown } else { Some(first) };
            }
        }
        breakdown.map(|row| row as usize)
    }
}

/// Returns the sum of `len` terms in the order of the kernels: every 32nd, and then these sums by halves.
pub(super) fn sum<V: Scalar>(len: usize, term: impl Fn(usize) -> V) -> V {
    let mut sums = [V::ZERO; LANES];
    for at in 0..len {
        sums[at % LANES] += term(at);
    }
    sum_by_halves(&mut sums)
}
