use std::ops::Range;

use super::super::vector::sum_by_halves;
use crate::{CsrView, Offset, Scalar};

/// Partial sums of an inner product: the lanes of a warp.
const LANES: usize = 32;

/// The rows of a canonical matrix, and their diagonals.
pub(crate) struct FactorizedRows<'a, O> {
    pub(crate) row_offsets: &'a [O],
    pub(crate) column_indices: &'a [u32],
    /// The place of the diagonal of each row.
    pub(crate) diagonals: &'a [O],
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
    pub(super) fn count(&self) -> usize {
        self.diagonals.len()
    }

    /// The entries of a row.
    pub(super) fn entries(&self, row: usize) -> Range<usize> {
        self.row_offsets[row].to_usize()..self.row_offsets[row + 1].to_usize()
    }

    /// The place of the diagonal of a row.
    pub(super) fn diagonal(&self, row: usize) -> usize {
        self.diagonals[row].to_usize()
    }

    /// Returns the place of a column among consecutive entries of a row.
    pub(super) fn find(&self, column: u32, among: Range<usize>) -> Option<usize> {
        let at = self.column_indices[among.clone()].binary_search(&column).ok()?;
        Some(among.start + at)
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
