//! The merge path of a whole matrix: the ends of its rows, and its nonzeros, in one sequence.

use crate::Rank;
use crate::error::{Error, Result};
use crate::memory::reserved;

/// A rank's part of the merge path of rows and nonzeros (Merrill, Garland, "Merge-based parallel sparse
/// matrix-vector multiplication", SC 2016, section 3). An item is a nonzero, or the end of a row, which follows
/// the row's nonzeros.
#[derive(Debug)]
pub(crate) struct MergePath {
    /// Position of the start of each of the rank's rows, and of the end of the last.
    starts: Vec<u64>,
    /// Number of items, on all ranks.
    len: u64,
    ranks: usize,
}

impl MergePath {
    /// Creates the path of rows of which each rank knows consecutive ones, with these lengths. A collective
    /// operation.
    ///
    /// # Errors
    ///
    /// If the sum of rows and lengths exceeds 64 bits; if there is too little memory, or a rank failed.
    pub(crate) fn new(rank: &Rank, lengths: &[u64]) -> Result<Self> {
        let own = checked_sum(lengths.iter().copied().chain([lengths.len() as u64]))?;
        let counts = rank.all_gather(&[own])?;
        let len = checked_sum(counts.iter().flatten().copied())?;
        let mut starts: Vec<u64> = reserved(lengths.len() + 1)?;
        // Cannot overflow: the total does not.
        starts.push(counts[..rank.index()].iter().flatten().sum());
        for length in lengths {
            starts.push(starts[starts.len() - 1] + length + 1);
        }
        Ok(Self { starts, len, ranks: rank.size() })
    }

    /// Position of the start of each of the rank's rows, and of the end of the last.
    pub(crate) fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// Position of a rank's even share, or the end of the path.
    pub(crate) fn share(&self, rank: usize) -> u64 {
        diagonal(self.len, rank, self.ranks)
    }

    /// Returns whether a position is in the rank's part.
    pub(crate) fn has(&self, at: u64) -> bool {
        (self.starts[0]..self.starts[self.starts.len() - 1]).contains(&at)
    }

    /// Row of the rank's, counted from its first, whose start is nearest to a position; the first of two.
    pub(crate) fn nearest_row(&self, at: u64) -> usize {
        nearest_row(self.starts.len() - 1, |row| self.starts[row], at)
    }

    /// First row of the rank's, counted from its first, that starts at a position or after it.
    pub(crate) fn row_after(&self, at: u64) -> usize {
        self.starts.partition_point(|&start| start < at)
    }
}

/// Sum of rows and nonzeros; fails if it exceeds 64 bits.
fn checked_sum(mut numbers: impl Iterator<Item = u64>) -> Result<u64> {
    let sum = numbers.try_fold(0_u64, u64::checked_add);
    let limit = u64::MAX;
    sum.ok_or(Error::TooLarge { what: "rows and nonzeros", found: limit, limit })
}

/// Position of a boundary on a path of this length.
pub(crate) fn diagonal(path: u64, boundary: usize, ranks: usize) -> u64 {
    (u128::from(path) * boundary as u128 / ranks as u128) as u64
}

/// Row whose start on the path is nearest to a position; the first of two. The path ascends with the row.
pub(crate) fn nearest_row(rows: usize, path: impl Fn(usize) -> u64, at: u64) -> usize {
    let (mut low, mut high) = (0, rows);
    while low < high {
        let middle = low.midpoint(high);
        if path(middle) < at { low = middle + 1 } else { high = middle }
    }
    // The first row at or after the position, or the one before.
    let (before, after) = (|| at.saturating_sub(path(low - 1)), path(low).saturating_sub(at));
    if low > 0 && before() <= after { low - 1 } else { low }
}
