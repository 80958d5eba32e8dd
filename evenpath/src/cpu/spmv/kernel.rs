//! How the rows of a tile are summed.

use std::ops::Range;

use super::SpmvGroups;
use super::groups::GroupedRows;
use super::scattered::has_scattered_columns;
use crate::Offset;

/// The way to sum the rows of a tile, which their structure suggests. The same for every run, because it determines the
/// rounding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kernel {
    /// Row by row.
    Rows,
    /// Row by row, with elements of x prefetched.
    Scattered,
    /// Four short rows at a time.
    ShortRows,
    /// Row by row, with vector loads of x where columns are consecutive.
    Runs,
    /// By groups of rows whose columns follow from those of the first.
    Groups(GroupedRows),
}

/// Four consecutive rows, by where the first begins and where each ends. An array of ends would be stored and loaded again
/// for every four rows, which takes longer than their products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FourRows {
    start: usize,
    first: usize,
    second: usize,
    third: usize,
    pub(super) end: usize,
}

/// The nonzeros of a short row, at most.
const SHORT: usize = 4;
/// `ShortRows` needs this share of groups of four rows to be short, in percent. With fewer, mispredicted branches cost
/// more than is saved.
const SHORT_PERCENT: usize = 70;
/// Consecutive columns that are looked for.
const RUN: usize = 8;
/// `Runs` needs this share of runs, in percent.
const RUN_PERCENT: usize = 75;
/// One in this many groups of columns is looked at.
const SAMPLED: usize = 16;

impl Kernel {
    /// The kernel for consecutive rows, the first of which starts at the nonzero `start`, and their columns.
    pub(super) fn choose<O: Offset>(
        start: usize,
        row_ends: &[O],
        columns: &[u32],
        look_for: SpmvGroups,
    ) -> Self {
        if look_for != SpmvGroups::Ignored
            && let Some(rows) = GroupedRows::find(start, row_ends, columns, look_for == SpmvGroups::Copied)
        {
            return Self::Groups(rows);
        }
        if has_scattered_columns(row_ends.len(), columns, 1) {
            return Self::Scattered;
        }
        let (fours, _) = row_ends.as_chunks::<4>();
        let (mut start, mut short) = (start, 0);
        for ends in fours {
            let four = FourRows::new(start, ends);
            short += usize::from(four.are_short());
            start = four.end;
        }
        if short * 100 > fours.len() * SHORT_PERCENT {
            return Self::ShortRows;
        }
        let (groups, _) = columns.as_chunks::<RUN>();
        let sample = groups.iter().step_by(SAMPLED);
        let is_run = |group: &&[u32; RUN]| (1..RUN).all(|at| group[at] == group[0].wrapping_add(at as u32));
        let (all, runs) = (sample.len(), sample.filter(is_run).count());
        if runs * 100 > all * RUN_PERCENT { Self::Runs } else { Self::Rows }
    }

    /// Bytes beside those of `self`.
    pub(super) fn bytes(&self) -> usize {
        if let Self::Groups(rows) = self { rows.bytes() } else { 0 }
    }
}

impl FourRows {
    #[inline]
    pub(super) fn new<O: Offset>(start: usize, ends: &[O; 4]) -> Self {
        let [first, second, third, end] = ends;
        let (first, second) = (first.to_usize(), second.to_usize());
        Self { start, first, second, third: third.to_usize(), end: end.to_usize() }
    }

    /// Whether none is longer than four nonzeros.
    #[inline]
    pub(super) fn are_short(&self) -> bool {
        let Self { start, first, second, third, end } = *self;
        (first - start).max(second - first).max(third - second).max(end - third) <= SHORT
    }

    /// Whether all are empty.
    #[inline]
    pub(super) fn are_empty(&self) -> bool {
        self.start == self.end
    }

    /// The nonzeros of each.
    #[inline]
    pub(super) fn ranges(&self) -> [Range<usize>; 4] {
        let Self { start, first, second, third, end } = *self;
        [start..first, first..second, second..third, third..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(lengths: &[usize], columns: &[u32]) -> Kernel {
        let mut end = 10;
        let row_ends: Vec<u32> = lengths
            .iter()
            .map(|length| {
                end += *length as u32;
                end
            })
            .collect();
        Kernel::choose(10, &row_ends, columns, SpmvGroups::Found)
    }

    #[test]
    fn short_rows_are_summed_together() {
        let scattered: Vec<u32> = (0..2000).map(|at| at * 7).collect();
        assert_eq!(choose(&[4; 100], &scattered[..400]), Kernel::ShortRows);
        assert_eq!(choose(&[0; 100], &[]), Kernel::ShortRows);
        assert_eq!(choose(&[5; 100], &scattered[..500]), Kernel::Rows);
        // One long row in every fourth group, then in every second.
        let some: Vec<usize> = (0..400).map(|row| if row % 16 == 5 { 9 } else { 2 }).collect();
        assert_eq!(choose(&some, &scattered), Kernel::ShortRows);
        let many: Vec<usize> = (0..400).map(|row| if row % 8 == 5 { 9 } else { 2 }).collect();
        assert_eq!(choose(&many, &scattered), Kernel::Rows);
        assert_eq!(choose(&[], &[]), Kernel::Rows);
    }

    #[test]
    fn x_is_prefetched_for_short_rows_of_scattered_columns() {
        let columns = |count: u32, distance: u32| -> Vec<u32> {
            (0..count).map(|at| at.wrapping_mul(2_654_435_761) % distance).collect()
        };
        assert_eq!(choose(&[3; 2000], &columns(6000, 1 << 20)), Kernel::Scattered);
        assert_eq!(choose(&[9; 2000], &columns(18_000, 1 << 20)), Kernel::Rows);
        // In caches, and next to each other.
        assert_eq!(choose(&[3; 2000], &columns(6000, 1 << 18)), Kernel::ShortRows);
        let near: Vec<u32> = (0..6000).map(|at| at * 100 / 64 + at % 3).collect();
        assert_eq!(choose(&[3; 2000], &near), Kernel::ShortRows);
    }

    #[test]
    fn runs_are_found_where_most_columns_have_them() {
        let dense: Vec<u32> = (0..2000).map(|at| at % 1000).collect();
        assert_eq!(choose(&[900, 1100], &dense), Kernel::Runs);
        let blocks: Vec<u32> = (0..2000).map(|at| at / 3 * 10 + at % 3).collect();
        assert_eq!(choose(&[1000; 2], &blocks), Kernel::Rows);
        // Descending and equal columns are no runs, and neither is what wraps around.
        let descending: Vec<u32> = (0..2000).rev().collect();
        assert_eq!(choose(&[1000; 2], &descending), Kernel::Rows);
        assert_eq!(choose(&[900, 1100], &[7; 2000]), Kernel::Rows);
    }
}
