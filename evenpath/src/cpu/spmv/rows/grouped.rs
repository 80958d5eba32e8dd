//! The rows of one tile by groups, with AVX2.

use super::super::cut::CpuTile;
use super::super::groups::{GroupedRows, Relation};
use super::super::x86::{EqualRows, EvenRows, LONG, Lanes, MOST_LANES};
use super::{CpuSpmvOperands, RowSum, WithoutRuns, carry};
use crate::Offset;

impl<V: Lanes, O: Offset> CpuSpmvOperands<'_, V, O> {
    /// # Safety
    /// The machine has AVX2 and FMA, and the groups are those of the tile's rows.
    #[inline(never)]
    #[target_feature(enable = "avx2,fma")]
    pub(super) unsafe fn run_groups(
        &self,
        rows: &WithoutRuns<'_, V>,
        tile: &CpuTile,
        grouped: &GroupedRows,
        finished: &mut [V],
    ) -> Option<V> {
        let mut start = tile.path.start.nonzero;
        let mut ends = &self.row_ends[tile.path.start.row..tile.path.end.row];
        let mut rest = finished;
        let mut copied = grouped.columns.as_slice();
        for group in &grouped.groups {
            let (group_ends, y);
            (group_ends, ends) = ends.split_at(group.rows());
            (y, rest) = rest.split_at_mut(group.rows());
            let even = EvenRows { start, length: group_ends[0].to_usize() - start };
            // SAFETY: guaranteed by the caller; ranges are those of rows, and columns are below the length of x.
            unsafe {
                start = match group.relation {
                    Relation::None if grouped.are_scattered => {
                        self.sum_scattered_rows(start, group_ends, y, rows)
                    }
                    Relation::None => self.sum_rows(start, group_ends, y, rows),
                    Relation::Equal => {
                        let is_copied = !copied.is_empty();
                        let columns = if is_copied { copied } else { &self.columns[start..] };
                        let fetches_columns = !is_copied && even.length < LONG;
                        if grouped.are_scattered {
                            rows.0.prefetch_x(columns, even.length);
                        }
                        copied = copied.get(even.length..).unwrap_or_default();
                        self.sum_equal_rows(rows, EqualRows { rows: even, columns, fetches_columns }, y)
                    }
                    Relation::Shifted => self.sum_shifted_rows(rows, even, y),
                };
            }
        }
        // SAFETY: as above.
        unsafe { carry(tile, start, rows) }
    }

    /// # Safety
    /// The machine has AVX2 and FMA; the rows are those of the matrix, and have the same columns.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn sum_equal_rows(
        &self,
        rows: &WithoutRuns<'_, V>,
        mut equal: EqualRows<'_>,
        y: &mut [V],
    ) -> usize {
        let (fours, rest) = y.as_chunks_mut::<4>();
        for y in fours {
            // SAFETY: guaranteed by the caller.
            self.update_all(y, &unsafe { rows.0.equal_rows::<4>(equal) });
            equal.rows = equal.rows.after(4);
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            match rest.len() {
                1 => self.update_all(rest, &rows.0.equal_rows::<1>(equal)),
                2 => self.update_all(rest, &rows.0.equal_rows::<2>(equal)),
                3 => self.update_all(rest, &rows.0.equal_rows::<3>(equal)),
                _ => {}
            }
        }
        equal.rows.after(rest.len()).start
    }

    /// # Safety
    /// The machine has AVX2 and FMA; the rows are those of the matrix, and the columns of each are those of the one before plus
    /// one.
    #[target_feature(enable = "avx2,fma")]
    unsafe fn sum_shifted_rows(&self, rows: &WithoutRuns<'_, V>, even: EvenRows, y: &mut [V]) -> usize {
        let count = y.len();
        for (chunk, y) in y.chunks_mut(V::WIDE).enumerate() {
            let before = chunk * V::WIDE;
            let chunk = even.after(before);
            // SAFETY: guaranteed by the caller; there are as many sums as lanes, or more.
            unsafe {
                if y.len() == V::WIDE {
                    let mut sums = [V::ZERO; MOST_LANES];
                    V::store_wide(rows.0.shifted_rows(even.start, before, chunk), sums.as_mut_ptr());
                    self.update_all(y, &sums[..V::WIDE]);
                } else {
                    for (row, y) in y.iter_mut().enumerate() {
                        self.update(y, rows.sum(chunk.after(row).start..chunk.after(row + 1).start));
                    }
                }
            }
        }
        even.after(count).start
    }
}
