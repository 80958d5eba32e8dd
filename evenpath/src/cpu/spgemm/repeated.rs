//! Rows of A that have the pattern of the row before, maybe shifted by one: rows of C that do as well.
//!
//! Grids, bands and blocks have many. Where the products of such a row go among the entries of C is known from the row before.

use rayon::prelude::*;

use crate::{CsrView, Offset, Value};

/// Rows of A for one that is shifted, up to which it pays off to look at B.
const ROWS_A_SHIFTED_ONE: usize = 4;
/// The minimum number of rows of B per task.
const LEAST_ROWS: usize = 1 << 12;

/// Which rows have the pattern of the row before.
pub(super) struct Repeated {
    /// Whether a row of B is the row before, shifted by one; empty if that is not known.
    b_is_shifted: Vec<bool>,
}

impl Repeated {
    /// Whether a row of A seems to be the row before, shifted by one.
    #[inline]
    pub(super) fn seems_shifted<V: Value, O: Offset>(a: &CsrView<'_, V, O>, row: usize) -> bool {
        let Some(before) = row.checked_sub(1) else { return false };
        let (before, own, columns) = (a.range(before), a.range(row), a.column_indices());
        before.len() == own.len()
            && !own.is_empty()
            && columns[own.start].wrapping_sub(columns[before.start]) == 1
    }

    /// Looks at the rows of B, if so many rows of A seem to be shifted that there is a use for it.
    pub(super) fn new<V: Value, O: Offset>(
        a: &CsrView<'_, V, O>,
        b: &CsrView<'_, V, O>,
        shifted: usize,
    ) -> Self {
        if shifted == 0 || shifted * ROWS_A_SHIFTED_ONE < a.rows() {
            return Self { b_is_shifted: Vec::new() };
        }
        let columns = |row| &b.column_indices()[b.range(row)];
        let is_shifted = |row: usize| row > 0 && is_shifted_by(1, columns(row - 1), columns(row));
        if b.rows() <= LEAST_ROWS {
            return Self { b_is_shifted: (0..b.rows()).map(is_shifted).collect() };
        }
        let rows = (0..b.rows()).into_par_iter().with_min_len(LEAST_ROWS);
        Self { b_is_shifted: rows.map(is_shifted).collect() }
    }

    /// By how much a row of C is shifted against the row before, if both have the same products otherwise. Given are the columns of
    /// the row of A before and of its own.
    #[inline]
    pub(super) fn shift(&self, before: &[u32], own: &[u32]) -> Option<u32> {
        let shift = own.first()?.wrapping_sub(*before.first()?);
        if shift > 1 || !is_shifted_by(shift, before, own) {
            return None;
        }
        let is_repeated =
            shift == 0 || own.iter().all(|&k| self.b_is_shifted.get(k as usize).is_some_and(|&is| is));
        is_repeated.then_some(shift)
    }
}

/// Whether columns are others, shifted.
#[inline]
fn is_shifted_by(shift: u32, before: &[u32], own: &[u32]) -> bool {
    before.len() == own.len()
        && before.iter().zip(own).all(|(&before, &own)| own.wrapping_sub(before) == shift)
}

/// Where the products of a row of C go among its entries.
#[derive(Default)]
pub(super) struct Ranks(pub(super) Vec<u16>);

/// Steps for each product that it may take to find all ranks.
const MOST_STEPS: usize = 8;

impl Ranks {
    /// Finds the ranks of the columns of rows of B among those of the row of C. Returns whether that pays off.
    pub(super) fn find<'b>(
        &mut self,
        columns: &[u32],
        rows: impl ExactSizeIterator<Item = &'b [u32]> + Clone,
    ) -> bool {
        let products: usize = rows.clone().map(<[u32]>::len).sum();
        if columns.len() > usize::from(u16::MAX) || columns.len() * rows.len() > MOST_STEPS * products {
            return false;
        }
        self.0.clear();
        for row in rows {
            let mut rank = 0;
            for &column in row {
                while columns.get(rank).is_some_and(|&other| other < column) {
                    rank += 1;
                }
                self.0.push(rank as u16);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_do_not_fit_16_bits_are_not_found() {
        let columns: Vec<u32> = (0..1 << 17).map(|at| 2 * at).collect();
        for (len, fits) in [(1, true), (u16::MAX as usize, true), (1 << 16, false), (1 << 17, false)] {
            let mut ranks = Ranks::default();
            let columns = &columns[..len];
            assert_eq!(ranks.find(columns, std::iter::once(columns)), fits, "{len}");
            assert!(!fits || ranks.0.iter().enumerate().all(|(at, &rank)| at == usize::from(rank)));
        }
    }
}
