//! Choice of the kernel that sums the rows of a tile.

use std::ops::Range;

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
    /// Eight rows of the same short length at a time.
    EvenRows(EvenLength),
    /// Four short rows at a time.
    ShortRows,
    /// Row by row, with vector loads of x for consecutive columns.
    Runs,
    /// By groups of rows whose columns follow from those of the first.
    Groups(GroupedRows),
}

/// Length of most rows of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EvenLength {
    /// Number of nonzeros per row, 1 to [`SHORT`].
    pub(super) length: usize,
    /// True if elements of x are prefetched.
    pub(super) are_scattered: bool,
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
/// Number of rows that are summed together if they have the same length.
pub(super) const EVEN_ROWS: usize = 8;
/// Maximum length of rows that are summed together wherever their columns are; longer ones are only if their
/// columns are scattered and do not follow from the previous row's. Otherwise other kernels are faster for
/// them.
const EVEN: usize = 2;
/// Minimum percentage of groups of rows with equal lengths, for `EvenRows`: the others are summed row by row.
const EVEN_PERCENT: usize = 90;
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
        let are_scattered = || has_scattered_columns(row_ends.len(), columns, 1);
        let even = even_length(start, row_ends);
        if let Some(length @ ..=EVEN) = even {
            return Self::EvenRows(EvenLength { length, are_scattered: are_scattered() });
        }
        if look_for != SpmvGroups::Ignored
            && let Some(rows) = GroupedRows::find(start, row_ends, columns, look_for == SpmvGroups::Copied)
        {
            return Self::Groups(rows);
        }
        if are_scattered() {
            let even_rows = |length| Self::EvenRows(EvenLength { length, are_scattered: true });
            return even.map_or(Self::Scattered, even_rows);
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
            Self::Scattered | Self::EvenRows(_) | Self::Groups(_) => false,
        }
    }

    /// Number of bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        if let Self::Groups(rows) = self { rows.bytes() } else { 0 }
    }
}

/// Returns whether consecutive rows, the first of which starts at the nonzero `start`, all have this length.
#[inline]
pub(super) fn are_even<O: Offset>(start: usize, ends: &[O; EVEN_ROWS], length: usize) -> bool {
    // Without branches, each of which would have to be predicted.
    let mut differences = 0;
    for (row, end) in ends.iter().enumerate() {
        differences |= end.to_usize() ^ (start + (row + 1) * length);
    }
    differences == 0
}

/// Length of most of a tile's rows, if they are short.
fn even_length<O: Offset>(start: usize, row_ends: &[O]) -> Option<usize> {
    let nonzeros = row_ends.last()?.to_usize() - start;
    let length = (nonzeros + row_ends.len() / 2) / row_ends.len();
    if !(1..=SHORT).contains(&length) {
        return None;
    }
    let (groups, _) = row_ends.as_chunks::<EVEN_ROWS>();
    let (mut start, mut even) = (start, 0);
    for ends in groups {
        even += usize::from(are_even(start, ends, length));
        start = ends[EVEN_ROWS - 1].to_usize();
    }
    (even * 100 > groups.len() * EVEN_PERCENT).then_some(length)
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
        assert_eq!(choose(&[0; 100], &[]), RowsKernel::ShortRows);
        assert_eq!(choose(&[5; 100], &scattered[..500]), RowsKernel::Rows);
        // One long row in every fourth group, then in every second.
        let some: Vec<usize> = (0..400).map(|row| if row % 16 == 5 { 9 } else { 2 }).collect();
        assert_eq!(choose(&some, &scattered), RowsKernel::ShortRows);
        let many: Vec<usize> = (0..400).map(|row| if row % 8 == 5 { 9 } else { 2 }).collect();
        assert_eq!(choose(&many, &scattered), RowsKernel::Rows);
        assert_eq!(choose(&[], &[]), RowsKernel::Rows);
    }

    #[test]
    fn short_rows_of_one_length_are_summed_together() {
        let scattered: Vec<u32> = (0..2000).map(|at| at * 7).collect();
        let even = |length| RowsKernel::EvenRows(EvenLength { length, are_scattered: false });
        for length in 1..=EVEN {
            assert_eq!(choose(&vec![length; 160], &scattered[..160 * length]), even(length));
        }
        assert_eq!(choose(&[3; 160], &scattered[..480]), RowsKernel::ShortRows);
        // One row of another length among 160, then one in every 16.
        let with_others = |every: usize| -> Vec<usize> {
            (0..160).map(|row| if row % every == 5 { 9 } else { 2 }).collect()
        };
        assert_eq!(choose(&with_others(160), &scattered[..327]), even(2));
        assert_eq!(choose(&with_others(16), &scattered[..390]), RowsKernel::ShortRows);
        assert_eq!(choose(&[0, 1].repeat(80), &scattered[..80]), RowsKernel::ShortRows);
        assert_eq!(choose(&[1; 7], &scattered[..7]), RowsKernel::ShortRows, "fewer than are summed together");
    }

    #[test]
    fn rows_are_even_only_if_each_has_the_length() {
        assert!(are_even(10, &[12_u32, 14, 16, 18, 20, 22, 24, 26], 2));
        assert!(!are_even(10, &[12_u32, 14, 15, 18, 20, 22, 24, 26], 2), "one and three");
        assert!(!are_even(9, &[12_u32, 14, 16, 18, 20, 22, 24, 26], 2), "the first is longer");
        assert!(!are_even(10, &[12_u32, 14, 16, 18, 20, 22, 24, 27], 2), "the last is longer");
    }

    #[test]
    fn x_is_prefetched_for_short_rows_of_scattered_columns() {
        let columns = |count: u32, distance: u32| -> Vec<u32> {
            (0..count).map(|at| at.wrapping_mul(2_654_435_761) % distance).collect()
        };
        let uneven = [4, 2].repeat(1000);
        assert_eq!(choose(&uneven, &columns(6000, 1 << 20)), RowsKernel::Scattered);
        let even = RowsKernel::EvenRows(EvenLength { length: 3, are_scattered: true });
        assert_eq!(choose(&[3; 2000], &columns(6000, 1 << 20)), even);
        assert_eq!(choose(&[9; 2000], &columns(18_000, 1 << 20)), RowsKernel::Rows);
        // Cached, and adjacent.
        assert_eq!(choose(&uneven, &columns(6000, 1 << 18)), RowsKernel::ShortRows);
        assert_eq!(choose(&[3; 2000], &columns(6000, 1 << 18)), RowsKernel::ShortRows);
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
