//! Short rows of the same length, several at a time.

use super::super::cut::CpuTile;
use super::super::even::EvenRuns;
use super::super::x86::{EvenRows, Lanes};
use super::{CpuSpmvOperands, FETCHED_ROWS, WithoutRuns, carry};
use crate::Offset;

impl<V: Lanes, O: Offset> CpuSpmvOperands<'_, V, O> {
    /// # Safety
    /// The machine has AVX2 and FMA, and the runs are those of the tile's rows.
    #[inline(never)]
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn run_even_rows(
        &self,
        rows: &WithoutRuns<'_, V>,
        tile: &CpuTile,
        even: &EvenRuns,
        finished: &mut [V],
    ) -> Option<V> {
        let mut start = tile.path.start.nonzero;
        let mut ends = &self.row_ends[tile.path.start.row..tile.path.end.row];
        let mut rest = finished;
        for run in &even.runs {
            let (run_ends, y);
            (run_ends, ends) = ends.split_at(run.rows());
            (y, rest) = rest.split_at_mut(run.rows());
            let block = if even.are_scattered { FETCHED_ROWS } else { run.rows() };
            for (ends, y) in run_ends.chunks(block).zip(y.chunks_mut(block)) {
                if even.are_scattered {
                    rows.0.prefetch_x(&self.columns[start..], ends[ends.len() - 1].to_usize() - start);
                }
                // SAFETY: guaranteed by the caller; ranges are those of rows, and columns are below the length of x.
                unsafe {
                    let mut done = 0;
                    if let Some(length) = run.length.map(usize::from) {
                        done = self.sum_even_rows(rows, EvenRows { start, length }, y);
                        start += done * length;
                    }
                    start = self.sum_rows(start, &ends[done..], &mut y[done..], rows);
                }
            }
        }
        // SAFETY: as above.
        unsafe { carry(tile, start, rows) }
    }

    /// # Safety
    /// The machine has AVX2 and FMA, and no row has more than one nonzero.
    #[inline(never)]
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn run_singles(
        &self,
        rows: &WithoutRuns<'_, V>,
        tile: &CpuTile,
        finished: &mut [V],
    ) -> Option<V> {
        let ends = &self.row_ends[tile.path.start.row..tile.path.end.row];
        // Nonzeros of the first row may lie in tiles before; the others start where the rows before them end.
        let (first, others) = finished.split_at_mut(finished.len().min(1));
        // SAFETY: guaranteed by the caller; ranges are those of rows, and columns are below the length of x.
        unsafe {
            let mut start = self.sum_rows(tile.path.start.nonzero, ends, first, rows);
            let mut done = 0;
            // Offsets of 64 bits have twice as many halves.
            let halves = bytemuck::try_cast_slice(ends).unwrap_or_default();
            if halves.len() == ends.len() && !others.is_empty() {
                done = rows.0.single_rows(halves, (self.alpha, self.beta), others);
                start = ends[done].to_usize();
            }
            start = self.sum_rows(start, &ends[first.len() + done..], &mut others[done..], rows);
            carry(tile, start, rows)
        }
    }

    /// Computes all rows but the last few, and returns their number.
    ///
    /// # Safety
    /// The machine has AVX2 and FMA; the rows are those of the matrix.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn sum_even_rows(&self, rows: &WithoutRuns<'_, V>, even: EvenRows, y: &mut [V]) -> usize {
        let (rows, start, factors) = (&rows.0, even.start, (self.alpha, self.beta));
        macro_rules! of_length {
            ($($length:literal)*) => {
                match even.length {
                    $($length => rows.even_rows::<$length>(start, factors, y),)*
                    _ => 0,
                }
            };
        }
        // SAFETY: guaranteed by the caller; columns are below the length of x.
        unsafe { of_length!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16) }
    }
}
