//! Consecutive rows of one short length.

use super::scattered::has_scattered_columns;
use crate::Offset;

/// Maximum length of the rows of a run. Longer ones are as fast row by row.
const LONGEST: usize = 16;
/// Minimum number of rows in a run, which is the largest number of lanes.
const LEAST_ROWS: usize = 8;
/// Minimum number of rows per run on average. With fewer, mispredicted branches cost more than is saved.
const MEAN_ROWS: usize = 12;
/// Maximum percentage of rows outside runs.
const OTHER_PERCENT: usize = 10;

/// Consecutive rows of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EvenRun {
    rows: u16,
    /// Length of all rows, or `None` if they have several lengths, or are long.
    pub(super) length: Option<u8>,
}

impl EvenRun {
    pub(super) fn rows(self) -> usize {
        self.rows.into()
    }
}

/// Rows of a tile in runs of one length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EvenRuns {
    pub(super) runs: Vec<EvenRun>,
    /// True if elements of x are prefetched.
    pub(super) are_scattered: bool,
}

impl EvenRuns {
    /// Finds the runs of a tile's rows, if they pay off. The first row starts at the nonzero `start`; `columns` has their columns.
    pub(super) fn find<O: Offset>(start: usize, ends: &[O], columns: &[u32]) -> Option<Self> {
        let found = Self::with_others(start, ends, columns, ends.len() * OTHER_PERCENT / 100)?;
        (found.mean_rows() >= MEAN_ROWS).then_some(found)
    }

    /// Finds the runs of a tile's rows, unless more than `most` rows are outside runs.
    pub(super) fn with_others<O: Offset>(
        mut start: usize,
        ends: &[O],
        columns: &[u32],
        most: usize,
    ) -> Option<Self> {
        let (mut runs, mut others) = (Vec::new(), 0);
        let (mut rows, mut length) = (0, 0);
        for end in ends {
            let next = end.to_usize() - start;
            start += next;
            if next != length {
                others += add(&mut runs, rows, length);
                if others > most {
                    return None;
                }
                (rows, length) = (0, next);
            }
            rows += 1;
        }
        others += add(&mut runs, rows, length);
        if others > most {
            return None;
        }
        Some(Self { runs, are_scattered: has_scattered_columns(ends.len(), columns, 1) })
    }

    /// Mean number of rows between changes of the length.
    pub(super) fn mean_rows(&self) -> usize {
        let rows: usize = self.runs.iter().map(|run| run.rows()).sum();
        rows.checked_div(self.runs.len()).unwrap_or(0)
    }

    /// The length of the longest rows in runs of one length.
    pub(super) fn longest(&self) -> usize {
        self.runs.iter().filter_map(|run| run.length).max().unwrap_or(0).into()
    }

    /// Number of bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.runs.as_slice())
    }
}

/// Adds consecutive rows of one length. Returns their number if they are none of a run.
fn add(runs: &mut Vec<EvenRun>, rows: usize, length: usize) -> usize {
    let is_run = rows >= LEAST_ROWS && length <= LONGEST;
    let length = is_run.then_some(length as u8);
    match runs.last_mut() {
        // A tile has fewer rows than a `u16` can count.
        Some(last) if last.length == length => last.rows += rows as u16,
        _ if rows > 0 => runs.push(EvenRun { rows: rows as u16, length }),
        _ => {}
    }
    if is_run { 0 } else { rows }
}

/// Returns whether there are rows, none of which has more than one nonzero.
pub(super) fn are_single<O: Offset>(start: usize, ends: &[O]) -> bool {
    let Some(first) = ends.first() else { return false };
    let lengths = ends.windows(2).map(|pair| pair[1].to_usize() - pair[0].to_usize());
    lengths.fold(first.to_usize() - start, usize::max) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(lengths: &[usize]) -> Vec<u32> {
        let mut end = 10;
        let add = |length: &usize| {
            end += *length as u32;
            end
        };
        lengths.iter().map(add).collect()
    }

    fn runs(lengths: &[usize], most: usize) -> Option<Vec<(usize, Option<u8>)>> {
        let found = EvenRuns::with_others(10, &ends(lengths), &[], most)?;
        Some(found.runs.iter().map(|run| (run.rows(), run.length)).collect())
    }

    #[test]
    fn runs_begin_where_the_length_changes() {
        let lengths = [&[3; 20][..], &[0; 8], &[2; 7], &[5, 1], &[LONGEST; 9], &[LONGEST + 1; 30]].concat();
        let expected = [(20, Some(3)), (8, Some(0)), (9, None), (9, Some(LONGEST as u8)), (30, None)];
        assert_eq!(runs(&lengths, 39).unwrap(), expected);
        assert_eq!(runs(&lengths, 38), None);
        assert_eq!(runs(&[], 0), Some(vec![]));
        assert_eq!(runs(&[0; 8], 0), Some(vec![(8, Some(0))]));
        assert_eq!(runs(&[0; 7], 0), None);
    }

    #[test]
    fn runs_pay_off_if_they_are_long() {
        let find = |lengths: &[usize]| EvenRuns::find(10, &ends(lengths), &[]).map(|found| found.longest());
        assert_eq!(find(&[4; 1000]), Some(4));
        let stretches = |rows: usize| [vec![4; rows], vec![2; rows]].concat().repeat(20);
        assert_eq!(find(&stretches(MEAN_ROWS)), Some(4));
        assert_eq!(find(&stretches(MEAN_ROWS - 1)), None);
        // One row in ten of another length, then two.
        let stretches = |others: usize| [vec![4; 180], vec![20; others]].concat().repeat(20);
        assert_eq!(find(&stretches(20)), Some(4));
        assert_eq!(find(&stretches(40)), None);
        assert_eq!(find(&[]), None);
    }

    #[test]
    fn rows_are_single_up_to_one_nonzero() {
        assert!(are_single(10, &ends(&[1, 0, 0, 1])));
        assert!(!are_single(10, &ends(&[1, 0, 2, 1])));
        assert!(!are_single(10, &ends(&[2, 0])) && are_single(11, &ends(&[2, 0])), "by the part in the tile");
        assert!(!are_single::<u32>(10, &[]), "no rows");
    }
}
