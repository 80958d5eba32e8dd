//! Which rows are on which rank.

use std::fmt;
use std::ops::Range;

use crate::Rank;
use crate::error::{Error, Result};
use crate::memory::reserved;

/// Rows in contiguous blocks, one for each rank, some of which may be empty.
///
/// The same type says how columns, and the elements of vectors, are divided.
///
/// ```
/// use evenpath_distributed::RowPartition;
///
/// let partition = RowPartition::even(10, 4)?;
/// assert_eq!(partition.boundaries(), [0, 2, 5, 7, 10]);
/// assert_eq!((partition.range(1), partition.owner(7)), (2..5, 3));
///
/// // One long row counts as much as many short ones.
/// let by_work = RowPartition::by_merge_path(&[0_u32, 100, 101, 102, 103, 104], 2)?;
/// assert_eq!(by_work.boundaries(), [0, 1, 5]);
/// # Ok::<(), evenpath_distributed::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RowPartition {
    /// One more than ranks, from 0 to the number of rows.
    boundaries: Vec<u64>,
}

impl RowPartition {
    /// Blocks of equally many rows, give or take one; a single block if `ranks` is 0.
    ///
    /// # Errors
    ///
    /// If there is no memory for a number of each rank.
    pub fn even(rows: u64, ranks: usize) -> Result<Self> {
        let ranks = ranks.max(1);
        let boundary = |rank: usize| (u128::from(rows) * rank as u128 / ranks as u128) as u64;
        Self::with_boundaries(ranks, boundary)
    }

    /// A partition from its boundaries, which ascend from 0: one per rank, and the end.
    fn with_boundaries(ranks: usize, boundary: impl Fn(usize) -> u64) -> Result<Self> {
        let mut boundaries = reserved(ranks.saturating_add(1))?;
        boundaries.extend((0..=ranks).map(boundary));
        Ok(Self { boundaries })
    }

    /// Blocks with the given boundaries: as many as ranks, and one more.
    ///
    /// # Errors
    ///
    /// If there are fewer than two, the first is not 0, or one is less than the one before it.
    pub fn from_boundaries(boundaries: Vec<u64>) -> Result<Self> {
        let fail = |reason: String| Err(Error::Partition { reason });
        if boundaries.len() < 2 {
            return fail(format!("{}, and must be one more than ranks", boundaries.len()));
        }
        if boundaries[0] != 0 {
            return fail(format!("from {} on, and must begin with 0", boundaries[0]));
        }
        match boundaries.windows(2).position(|pair| pair[0] > pair[1]) {
            None => Ok(Self { boundaries }),
            Some(rank) => {
                fail(format!("not ascending: {} before {}", boundaries[rank], boundaries[rank + 1]))
            }
        }
    }

    /// All rows on one rank.
    ///
    /// # Errors
    ///
    /// If there is no such rank, or no memory for a number of each.
    pub fn all_on(rank: usize, rows: u64, ranks: usize) -> Result<Self> {
        if rank >= ranks {
            return Err(Error::NoSuchRank { rank, size: ranks });
        }
        Self::with_boundaries(ranks, |boundary| if boundary > rank { rows } else { 0 })
    }

    /// Blocks of about equally many rows and nonzeros together, of a matrix with these row offsets: the merge path of the row ends and
    /// the nonzeros is cut into pieces of equal length (Merrill, Garland, "Merge-based parallel sparse matrix-vector multiplication",
    /// SC 2016, section 3), and each cut is moved to the nearest row end.
    ///
    /// # Errors
    ///
    /// If there is no memory for a number of each rank.
    pub fn by_merge_path<O: evenpath::Offset>(row_offsets: &[O], ranks: usize) -> Result<Self> {
        let ranks = ranks.max(1);
        let rows = row_offsets.len().saturating_sub(1);
        let first = row_offsets.first().map_or(0, |offset| offset.to_u64());
        let offset = |row: usize| row_offsets.get(row).map_or(first, |offset| offset.to_u64());
        // The offsets are of a matrix in memory, but may be none.
        let path = |row: usize| (row as u64).saturating_add(offset(row).saturating_sub(first));
        let mut boundaries: Vec<u64> = reserved(ranks.saturating_add(1))?;
        boundaries.push(0);
        for rank in 1..ranks {
            let cut = nearest_row(rows, path, diagonal(path(rows), rank, ranks)) as u64;
            // Of offsets that do not ascend, cuts might not either.
            boundaries.push(cut.max(boundaries[rank - 1]));
        }
        boundaries.push(rows as u64);
        Ok(Self { boundaries })
    }

    /// [`by_merge_path`](Self::by_merge_path) of a matrix of which each rank knows the lengths of some rows: those that `rows` gives it.
    /// A collective operation.
    ///
    /// # Errors
    ///
    /// If there is not one length for each of the rank's rows, or 64 bits do not count rows and lengths; if there is no memory, or a rank
    /// failed.
    pub fn by_merge_path_of(rank: &Rank, rows: &Self, lengths: &[u64]) -> Result<Self> {
        rows.check_ranks(rank)?;
        let own = rows.range(rank.index());
        if lengths.len() as u64 != own.end - own.start {
            let reason = format!("for {} rows, and there are {} lengths", own.end - own.start, lengths.len());
            return Err(Error::Partition { reason });
        }
        // Where this rank's part of the path begins, and where all ends.
        let work = checked_sum(lengths.iter().copied().chain([lengths.len() as u64]))?;
        let works = rank.all_gather(&[work])?;
        let total = checked_sum(works.iter().flatten().copied())?;
        // No part of the total is above it.
        let begin: u64 = works[..rank.index()].iter().flatten().sum();
        let mut path: Vec<u64> = reserved(lengths.len() + 1)?;
        path.push(begin);
        for length in lengths {
            path.push(path[path.len() - 1] + length + 1);
        }
        // A cut belongs to the rank in whose part it is.
        let mut cuts: Vec<u64> = Vec::new();
        for boundary in 1..rank.size() {
            let at = diagonal(total, boundary, rank.size());
            if (begin..begin + work).contains(&at) {
                let row = nearest_row(lengths.len(), |row| path[row], at);
                cuts.extend([boundary as u64, own.start + row as u64]);
            }
        }
        let mut boundaries = Self::all_on(0, rows.rows(), rank.size())?.boundaries;
        for cut in rank.all_gather(&cuts)?.iter().flat_map(|cuts| cuts.chunks_exact(2)) {
            boundaries[cut[0] as usize] = cut[1];
        }
        Self::from_boundaries(boundaries)
    }

    /// Rows of all ranks.
    pub fn rows(&self) -> u64 {
        self.boundaries[self.boundaries.len() - 1]
    }

    /// Ranks.
    pub fn ranks(&self) -> usize {
        self.boundaries.len() - 1
    }

    /// Where each rank's rows begin, and where the last one's end.
    pub fn boundaries(&self) -> &[u64] {
        &self.boundaries
    }

    /// The rows of a rank; empty if `rank` is out of range.
    pub fn range(&self, rank: usize) -> Range<u64> {
        match self.boundaries.get(rank..rank.saturating_add(2)) {
            Some(&[start, end]) => start..end,
            _ => self.rows()..self.rows(),
        }
    }

    /// How many rows a rank has.
    pub fn len(&self, rank: usize) -> u64 {
        let range = self.range(rank);
        range.end - range.start
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows() == 0
    }

    /// The rank that has a row; the last rank if `row` is out of range.
    pub fn owner(&self, row: u64) -> usize {
        let inner = &self.boundaries[1..self.boundaries.len() - 1];
        inner.partition_point(|&boundary| boundary <= row)
    }

    /// An error unless there is a block for each rank.
    pub(crate) fn check_ranks(&self, rank: &Rank) -> Result<()> {
        if self.ranks() == rank.size() {
            return Ok(());
        }
        let reason = format!("for {} ranks, and there are {}", self.ranks(), rank.size());
        Err(Error::Partition { reason })
    }

    /// An error unless an operand is divided like this.
    pub(crate) fn check_same(&self, operand: &'static str, found: &Self) -> Result<()> {
        if self == found {
            return Ok(());
        }
        Err(Error::PartitionMismatch { operand, found: found.to_string(), needed: self.to_string() })
    }
}

/// The sum of rows and nonzeros, if 64 bits count it.
fn checked_sum(mut numbers: impl Iterator<Item = u64>) -> Result<u64> {
    let sum = numbers.try_fold(0_u64, u64::checked_add);
    let limit = u64::MAX;
    sum.ok_or(Error::TooLarge { what: "rows and nonzeros", found: limit, limit })
}

/// Where a boundary is on a path of this length.
fn diagonal(path: u64, boundary: usize, ranks: usize) -> u64 {
    (u128::from(path) * boundary as u128 / ranks as u128) as u64
}

/// The row whose begin on the path is nearest to a position, of two the first. The path ascends with the row.
fn nearest_row(rows: usize, path: impl Fn(usize) -> u64, at: u64) -> usize {
    let (mut low, mut high) = (0, rows);
    while low < high {
        let middle = low.midpoint(high);
        if path(middle) < at { low = middle + 1 } else { high = middle }
    }
    // The first row at or after it; or the one before.
    let (before, after) = (|| at.saturating_sub(path(low - 1)), path(low).saturating_sub(at));
    if low > 0 && before() <= after { low - 1 } else { low }
}

impl fmt::Display for RowPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows over {} ranks", self.rows(), self.ranks())?;
        if self.ranks() <= 8 { write!(f, " at {:?}", self.boundaries) } else { Ok(()) }
    }
}

impl fmt::Debug for RowPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowPartition({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cluster;
    use evenpath::Device;

    #[test]
    fn boundaries_are_checked() {
        for (boundaries, reason) in
            [(vec![0], "one more than ranks"), (vec![1, 2], "begin with 0"), (vec![0, 5, 3], "5 before 3")]
        {
            let error = RowPartition::from_boundaries(boundaries).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        let partition = RowPartition::from_boundaries(vec![0, 0, 4, 4, 9, 9]).unwrap();
        let owners: Vec<usize> = (0..9).map(|row| partition.owner(row)).collect();
        assert_eq!(owners, [1, 1, 1, 1, 3, 3, 3, 3, 3]);
        for row in 0..9 {
            assert!(partition.range(partition.owner(row)).contains(&row));
        }
        assert_eq!((partition.len(0), partition.len(1), partition.len(9)), (0, 4, 0));
    }

    #[test]
    fn a_merge_path_is_cut_evenly() {
        let lengths: Vec<u64> = (0..1000).map(|row| row * row % 97).collect();
        let mut offsets = vec![0_u64];
        for length in &lengths {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        for ranks in [1, 2, 3, 7, 64] {
            let partition = RowPartition::by_merge_path(&offsets, ranks).unwrap();
            assert_eq!((partition.rows(), partition.ranks()), (1000, ranks));
            let even = (1000 + offsets[1000]) / ranks as u64;
            for rank in 0..ranks {
                let range = partition.range(rank);
                let work =
                    range.end - range.start + offsets[range.end as usize] - offsets[range.start as usize];
                // Each of two cuts is off by half of the longest row at most.
                assert!(work.abs_diff(even) <= 98, "{work} of {even}, rank {rank} of {ranks}");
            }
        }
        assert_eq!(RowPartition::by_merge_path::<u32>(&[], 3).unwrap().boundaries(), [0; 4]);
        assert_eq!(RowPartition::by_merge_path(&[0_u32, 10], 3).unwrap().boundaries(), [0, 0, 1, 1]);
        // What is no list of offsets gives some partition.
        let boundaries =
            RowPartition::by_merge_path(&[7_u32, 3, 9, 0, 1, u32::MAX, 2], 4).unwrap().boundaries().to_vec();
        assert_eq!(RowPartition::from_boundaries(boundaries).unwrap().rows(), 6);
        assert_eq!(RowPartition::by_merge_path(&[0, u64::MAX, u64::MAX], 2).unwrap().rows(), 2);
    }

    #[test]
    fn more_ranks_than_memory_has_numbers_are_refused() {
        for ranks in [1 << 60, usize::MAX] {
            for refused in [
                RowPartition::even(10, ranks),
                RowPartition::all_on(3, 10, ranks),
                RowPartition::by_merge_path(&[0_u32, 1], ranks),
            ] {
                let refused = refused.unwrap_err().to_string();
                assert!(refused.starts_with("the host is out of memory"), "{refused}");
            }
        }
    }

    #[test]
    fn lengths_that_64_bits_do_not_count_are_refused() {
        for lengths in
            [[u64::MAX, 0], [u64::MAX - 1, 1], [1 << 63, 1 << 63], [1 << 62, 1 << 62], [1 << 61, 1 << 62]]
        {
            let mut cluster = Cluster::local(vec![Device::cpu(); 2]).unwrap();
            let found = cluster.run(|rank| {
                let rows = RowPartition::even(4, 2)?;
                RowPartition::by_merge_path_of(rank, &rows, &lengths).map(|partition| partition.rows())
            });
            let is_counted = lengths == [1 << 61, 1 << 62];
            match found {
                Ok(rows) => assert!(is_counted && rows == [4; 2]),
                Err(error) => assert!(error.to_string().contains("rows and nonzeros"), "{error}"),
            }
        }
    }

    #[test]
    fn ranks_find_the_same_cuts_together() {
        let lengths: Vec<u64> = (0..50).map(|row| if row == 20 { 400 } else { row % 4 }).collect();
        let mut offsets = vec![0_u64];
        for length in &lengths {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        for ranks in [1, 2, 5, 60] {
            let mut cluster = Cluster::local(vec![Device::cpu(); ranks]).unwrap();
            let found = cluster.run(|rank| {
                let rows = RowPartition::even(50, ranks)?;
                let own = rows.range(rank.index());
                RowPartition::by_merge_path_of(rank, &rows, &lengths[own.start as usize..own.end as usize])
            });
            let expected = RowPartition::by_merge_path(&offsets, ranks).unwrap();
            for partition in found.unwrap() {
                assert_eq!(partition, expected, "{ranks} ranks");
            }
        }
    }
}
