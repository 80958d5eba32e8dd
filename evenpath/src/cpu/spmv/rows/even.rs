//! Short rows of the same length, several at a time.

use super::super::cut::CpuTile;
use super::super::kernel::{EVEN_ROWS, EvenLength, are_even};
use super::super::x86::Lanes;
use super::{CpuSpmvOperands, WithoutRuns, carry};
use crate::Offset;

impl<V: Lanes, O: Offset> CpuSpmvOperands<'_, V, O> {
    /// # Safety
    /// The machine has AVX2 and FMA.
    #[inline(never)]
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn run_even_rows(
        &self,
        rows: &WithoutRuns<'_, V>,
        tile: &CpuTile,
        even: EvenLength,
        finished: &mut [V],
    ) -> Option<V> {
        // SAFETY: guaranteed by the caller; ranges are those of rows, and columns are below the length of x.
        unsafe {
            let start = match (even.length, even.are_scattered) {
                (1, false) => self.sum_even_rows::<1, false>(rows, tile, finished),
                (1, true) => self.sum_even_rows::<1, true>(rows, tile, finished),
                (2, false) => self.sum_even_rows::<2, false>(rows, tile, finished),
                (2, true) => self.sum_even_rows::<2, true>(rows, tile, finished),
                (3, false) => self.sum_even_rows::<3, false>(rows, tile, finished),
                (3, true) => self.sum_even_rows::<3, true>(rows, tile, finished),
                (_, false) => self.sum_even_rows::<4, false>(rows, tile, finished),
                (_, true) => self.sum_even_rows::<4, true>(rows, tile, finished),
            };
            carry(tile, start, rows)
        }
    }

    /// Computes the rows that end in the tile, most of which have `LENGTH` nonzeros, and returns the nonzero after them.
    ///
    /// # Safety
    /// The machine has AVX2 and FMA; the rows are those of the matrix.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn sum_even_rows<const LENGTH: usize, const SCATTERED: bool>(
        &self,
        rows: &WithoutRuns<'_, V>,
        tile: &CpuTile,
        finished: &mut [V],
    ) -> usize {
        let mut start = tile.path.start.nonzero;
        let row_ends = &self.row_ends[tile.path.start.row..tile.path.end.row];
        let (groups, rest) = finished.as_chunks_mut::<EVEN_ROWS>();
        let (end_groups, end_rest) = row_ends.as_chunks::<EVEN_ROWS>();
        for (y, ends) in groups.iter_mut().zip(end_groups) {
            if SCATTERED {
                let count = ends[EVEN_ROWS - 1].to_usize() - start;
                rows.0.prefetch_x(&self.columns[start..], count);
            }
            if are_even(start, ends, LENGTH) {
                // SAFETY: there are as many nonzeros, and columns are below the length of x.
                let sums = unsafe { self.even_sums::<LENGTH>(start) };
                self.update_all(y, &sums);
                start += EVEN_ROWS * LENGTH;
            } else {
                // SAFETY: guaranteed by the caller.
                start = unsafe { self.sum_rows(start, ends, y, rows) };
            }
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.sum_rows(start, end_rest, rest, rows) }
    }

    /// Sums of rows of `LENGTH` nonzeros, the first of which starts at the nonzero `start`.
    ///
    /// # Safety
    /// There are as many nonzeros, and every column is below the length of x.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn even_sums<const LENGTH: usize>(&self, start: usize) -> [V; EVEN_ROWS] {
        let range = start..start + EVEN_ROWS * LENGTH;
        let (columns, _) = self.columns[range.clone()].as_chunks::<LENGTH>();
        let (values, _) = self.values[range].as_chunks::<LENGTH>();
        let mut sums = [V::ZERO; EVEN_ROWS];
        for (sum, (columns, values)) in sums.iter_mut().zip(columns.iter().zip(values)) {
            for (column, value) in columns.iter().zip(values) {
                // SAFETY: guaranteed by the caller.
                *sum += *value * unsafe { *self.x.get_unchecked(*column as usize) };
            }
        }
        sums
    }
}
