//! Choice of the kernel that sums the rows of a tile.

use std::ops::Range;

use super::even::{EvenRuns, are_single};
use super::groups::{GroupedRows, SpmvGroups};
use super::scattered::has_scattered_columns;
use crate::Offset;

/// Kernel that sums the rows of a tile, chosen by their structure. The same in every run, because it
/// determines the rounding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowsKernel {
    /// Row by row.
    Rows,
    /// Row by row, with elements of x prefetched.
    Scattered,
    /// Several rows of the same short length at a time.
    EvenRows(EvenRuns),
    /// Rows of at most one nonzero, several at a time.
    Singles,
    /// Four short rows at a time.
    ShortRows,
    /// Row by row, with vector loads of x for consecutive columns.
    Runs,
    /// By groups of rows whose columns follow from those of the first.
    Groups(GroupedRows),
}

/// Four consecutive rows, by the start of the first and the end of each. An array of ends would be stored and
/// reloaded for every four rows, which takes longer than their products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FourRows {
    start: usize,
    first: usize,
    second: usize,
    third: usize,
    pub(super) end: usize,
}

/// Maximum number of nonzeros in a short row.
const SHORT: usize = 4;
/// Minimum percentage of groups of four rows that are short, for `ShortRows`. With fewer, mispredicted
/// branches cost more than is saved.
const SHORT_PERCENT: usize = 70;
/// Maximum length of even rows that are summed together even if their columns are those of the row before, plus one.
const EVEN: usize = 2;
/// Maximum length of even rows that are summed together even if their columns are those of the row before. Longer ones are
/// faster by groups where caches do not hold the matrix.
const EVEN_GROUPED: usize = 9;
/// Minimum mean number of rows between changes of the length for summing rows of at most one nonzero by their lengths.
const SINGLE_ROWS: usize = 64;
/// Maximum length of even rows that are summed together on processors with fast gathers. Longer ones fill a gather.
const EVEN_GATHERED: usize = 4;
/// Number of consecutive columns in a run.
const RUN: usize = 8;
/// Minimum percentage of runs, for `Runs`.
const RUN_PERCENT: usize = 75;
/// Sampling interval of groups of columns.
const SAMPLED: usize = 16;

impl RowsKernel {
    /// Chooses the kernel for consecutive rows, the first of which starts at the nonzero `start`, and their
    /// columns.
    pub(super) fn choose<O: Offset>(
        start: usize,
        row_ends: &[O],
        columns: &[u32],
        look_for: SpmvGroups,
    ) -> Self {
        let even = EvenRuns::find(start, row_ends, columns);
        let (longest, mean_rows) =
            even.as_ref().map_or((usize::MAX, 0), |even| (even.longest(), even.mean_rows()));
        if mean_rows < SINGLE_ROWS && size_of::<O>() == size_of::<u32>() && are_single(start, row_ends) {
            return Self::Singles;
        }
        if longest > EVEN
            && look_for != SpmvGroups::Ignored
            && let Some(rows) = GroupedRows::find(start, row_ends, columns, look_for == SpmvGroups::Copied)
            && (longest > EVEN_GROUPED || rows.are_shifted())
        {
            return Self::Groups(rows);
        }
        if let Some(even) = even {
            return Self::EvenRows(even);
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

    /// Returns whether gathers are faster for these rows, on processors with fast gathers.
    pub(super) fn suits_gathers(&self) -> bool {
        match self {
            Self::Rows | Self::ShortRows | Self::Runs => true,
            Self::EvenRows(runs) => !runs.are_scattered && runs.longest() > EVEN_GATHERED,
            Self::Scattered | Self::Singles | Self::Groups(_) => false,
        }
    }

    /// Number of bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Groups(rows) => rows.bytes(),
            Self::EvenRows(runs) => runs.bytes(),
            _ => 0,
        }
    }
}

impl FourRows {
    #[inline]
    pub(super) fn new<O: Offset>(start: usize, ends: &[O; 4]) -> Self {
        let [first, second, third, end] = ends;
        let (first, second) = (first.to_usize(), second.to_usize());
        Self { start, first, second, third: third.to_usize(), end: end.to_usize() }
    }

    /// Returns whether no row has more than four nonzeros.
    #[inline]
    pub(super) fn are_short(&self) -> bool {
        let Self { start, first, second, third, end } = *self;
        (first - start).max(second - first).max(third - second).max(end - third) <= SHORT
    }

    /// Returns whether all rows are empty.
    #[inline]
    pub(super) fn are_empty(&self) -> bool {
        self.start == self.end
    }

    /// Range of nonzeros of each row.
    #[inline]
    pub(super) fn ranges(&self) -> [Range<usize>; 4] {
        let Self { start, first, second, third, end } = *self;
        [start..first, first..second, second..third, third..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(lengths: &[usize], columns: &[u32]) -> RowsKernel {
        let mut end = 10;
        let row_ends: Vec<u32> = lengths
            .iter()
            .map(|length| {
                end += *length as u32;
                end
            })
            .collect();
        RowsKernel::choose(10, &row_ends, columns, SpmvGroups::Found)
    }

    #[test]
    fn short_rows_are_summed_together() {
        let scattered: Vec<u32> = (0..2000).map(|at| at * 7).collect();
        assert_eq!(choose(&[4, 2].repeat(50), &scattered[..300]), RowsKernel::ShortRows);
        assert_eq!(choose(&[4, 5].repeat(50), &scattered[..450]), RowsKernel::Rows);
        // One long row in every fourth group, then in every second.
        let some: Vec<usize> = (0..400).map(|row| if row % 16 == 5 { 9 } else { row % 3 }).collect();
        assert_eq!(choose(&some, &scattered), RowsKernel::ShortRows);
        let many: Vec<usize> = (0..400).map(|row| if row % 8 == 5 { 9 } else { row % 3 }).collect();
        assert_eq!(choose(&many, &scattered), RowsKernel::Rows);
        assert_eq!(choose(&[], &[]), RowsKernel::Rows);
    }

    #[test]
    fn rows_of_one_length_are_summed_together() {
        let columns: Vec<u32> = (0..2000).map(|at| at * 7919 % 2003).collect();
        for length in 0..=12 {
            let kernel = choose(&[length; 160], &columns[..160 * length]);
            let RowsKernel::EvenRows(runs) = &kernel else { panic!("{kernel:?}") };
            assert_eq!((runs.runs.len(), runs.longest(), runs.are_scattered), (1, length, false));
            assert_eq!(kernel.suits_gathers(), length > EVEN_GATHERED);
        }
        assert_eq!(choose(&[20; 80], &columns[..1600]), RowsKernel::Rows);
        assert_eq!(choose(&[3; 7], &columns[..21]), RowsKernel::ShortRows, "fewer than are summed together");
    }

    #[test]
    fn even_rows_whose_columns_follow_are_groups_if_they_are_long_or_shifted() {
        let is_even = |length: usize, columns: &dyn Fn(usize, usize) -> usize| {
            let columns: Vec<u32> =
                (0..160).flat_map(|row| (0..length).map(move |at| columns(row, at) as u32)).collect();
            match choose(&[length; 160], &columns) {
                RowsKernel::EvenRows(_) => true,
                RowsKernel::Groups(_) => false,
                other => panic!("{other:?}"),
            }
        };
        let blocks = |row: usize, at: usize| row / 4 * 7 + at * 5;
        assert!(is_even(EVEN_GROUPED, &blocks) && !is_even(EVEN_GROUPED + 1, &blocks));
        let lattice = |row: usize, at: usize| row + at * 50;
        assert!(is_even(EVEN, &lattice) && !is_even(EVEN + 1, &lattice));
    }

    #[test]
    fn rows_of_at_most_one_nonzero_are_single_unless_they_change_rarely() {
        let columns: Vec<u32> = (0..2000).map(|at| at * 7).collect();
        assert_eq!(choose(&[0, 1].repeat(80), &columns[..80]), RowsKernel::Singles);
        let stretches =
            |rows: usize| choose(&[vec![1; rows], vec![0; rows]].concat().repeat(4), &columns[..4 * rows]);
        assert_eq!(stretches(SINGLE_ROWS - 1), RowsKernel::Singles);
        assert!(matches!(stretches(SINGLE_ROWS), RowsKernel::EvenRows(_)));
        // Offsets of 64 bits.
        let ends: Vec<u64> = (0..160).map(|row| row / 2).collect();
        assert_eq!(RowsKernel::choose(0, &ends, &columns[..79], SpmvGroups::Ignored), RowsKernel::ShortRows);
    }

    #[test]
    fn x_is_prefetched_for_short_rows_of_scattered_columns() {
        let columns = |count: u32, distance: u32| -> Vec<u32> {
            (0..count).map(|at| at.wrapping_mul(2_654_435_761) % distance).collect()
        };
        let uneven = [4, 2].repeat(1000);
        assert_eq!(choose(&uneven, &columns(6000, 1 << 20)), RowsKernel::Scattered);
        let is_prefetched = |length: usize, distance: u32| {
            let kernel = choose(&vec![length; 2000], &columns(length as u32 * 2000, distance));
            let RowsKernel::EvenRows(runs) = &kernel else { panic!("{kernel:?}") };
            assert!(!runs.are_scattered || !kernel.suits_gathers());
            runs.are_scattered
        };
        assert!(is_prefetched(3, 1 << 20) && is_prefetched(8, 1 << 20) && !is_prefetched(9, 1 << 20));
        // Cached, and adjacent.
        assert_eq!(choose(&uneven, &columns(6000, 1 << 18)), RowsKernel::ShortRows);
        assert!(!is_prefetched(3, 1 << 18));
        let near: Vec<u32> = (0..6000).map(|at| at * 100 / 64 + at % 3).collect();
        assert_eq!(choose(&uneven, &near), RowsKernel::ShortRows);
    }

    #[test]
    fn runs_are_found_where_most_columns_have_them() {
        let dense: Vec<u32> = (0..2000).map(|at| at % 1000).collect();
        assert_eq!(choose(&[900, 1100], &dense), RowsKernel::Runs);
        let blocks: Vec<u32> = (0..2000).map(|at| at / 3 * 10 + at % 3).collect();
        assert_eq!(choose(&[1000; 2], &blocks), RowsKernel::Rows);
        // Descending and equal columns are not runs, and neither are those that wrap around.
        let descending: Vec<u32> = (0..2000).rev().collect();
        assert_eq!(choose(&[1000; 2], &descending), RowsKernel::Rows);
        assert_eq!(choose(&[900, 1100], &[7; 2000]), RowsKernel::Rows);
    }
}
