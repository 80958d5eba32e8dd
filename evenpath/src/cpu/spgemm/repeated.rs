//! Rows of A with the pattern of the previous row, possibly shifted by one, and the resulting rows of C.
//!
//! Grids, bands and blocks have many. The positions of such a row's products among the entries of C are known
//! from the previous row.

use crate::{CsrView, Offset, Scalar, parallel};

/// Maximum number of rows of A per shifted row for which comparing the rows of B pays off.
const ROWS_A_SHIFTED_ONE: usize = 4;
/// The minimum number of rows of B per task.
const LEAST_ROWS: usize = 1 << 12;

/// Rows that have the pattern of the previous row.
pub(super) struct Repeated {
    /// True for rows of B that equal the previous row, shifted by one; empty if unknown.
    b_is_shifted: Vec<bool>,
}

impl Repeated {
    /// Returns whether a row of A seems to be the previous row, shifted by one.
    #[inline]
    pub(super) fn seems_shifted<V: Scalar, O: Offset>(a: &CsrView<'_, V, O>, row: usize) -> bool {
        let Some(before) = row.checked_sub(1) else { return false };
        let (before, own, columns) = (a.range(before), a.range(row), a.column_indices());
        before.len() == own.len()
            && !own.is_empty()
            && columns[own.start].wrapping_sub(columns[before.start]) == 1
    }

    /// Compares the rows of B, if enough rows of A seem to be shifted.
    pub(super) fn new<V: Scalar, O: Offset>(
        a: &CsrView<'_, V, O>,
        b: &CsrView<'_, V, O>,
        shifted: usize,
    ) -> Self {
        if shifted == 0 || shifted * ROWS_A_SHIFTED_ONE < a.nrows() {
            return Self { b_is_shifted: Vec::new() };
        }
        let columns = |row| &b.column_indices()[b.range(row)];
        let is_shifted = |row: usize| row > 0 && is_shifted_by(1, columns(row - 1), columns(row));
        if b.nrows() <= LEAST_ROWS {
            return Self { b_is_shifted: (0..b.nrows()).map(is_shifted).collect() };
        }
        Self { b_is_shifted: parallel::map(b.nrows(), LEAST_ROWS, is_shifted) }
    }

    /// Shift of a row of C against the previous row, if they otherwise have the same products, given the
    /// columns of A's rows.
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

/// Returns whether columns equal others, shifted.
#[inline]
fn is_shifted_by(shift: u32, before: &[u32], own: &[u32]) -> bool {
    before.len() == own.len()
        && before.iter().zip(own).all(|(&before, &own)| own.wrapping_sub(before) == shift)
}

/// Positions of the products of a row of C among its entries.
#[derive(Default)]
pub(super) struct ProductPositions(pub(super) Vec<u16>);

/// Maximum number of steps per product to find all positions.
const MOST_STEPS: usize = 8;

impl ProductPositions {
    /// Finds the positions of the columns of rows of B among those of the row of C. Returns whether it pays off.
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
            let mut position = 0;
            for &column in row {
                while columns.get(position).is_some_and(|&other| other < column) {
                    position += 1;
                }
                self.0.push(position as u16);
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
            let mut positions = ProductPositions::default();
            let columns = &columns[..len];
            assert_eq!(positions.find(columns, std::iter::once(columns)), fits, "{len}");
            assert!(
                !fits || positions.0.iter().enumerate().all(|(at, &position)| at == usize::from(position))
            );
        }
    }
}
