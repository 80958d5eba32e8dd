//! Partition of rows among ranks.

use std::fmt;
use std::ops::Range;

use crate::Rank;
use crate::error::{Error, Result};
use crate::memory::reserved;
use crate::merge_path::{MergePath, diagonal, nearest_row};

/// Partition of rows into contiguous blocks, one per rank; blocks may be empty.
///
/// The same type partitions columns and the elements of vectors.
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
    /// Block boundaries, from 0 to the number of rows; one more than ranks.
    boundaries: Vec<u64>,
}

impl RowPartition {
    /// Divides rows into blocks whose lengths differ by at most one; a single block if `ranks` is 0.
    ///
    /// # Errors
    ///
    /// If there is too little memory for one number per rank.
    pub fn even(rows: u64, ranks: usize) -> Result<Self> {
        let ranks = ranks.max(1);
        let boundary = |rank: usize| (u128::from(rows) * rank as u128 / ranks as u128) as u64;
        Self::with_boundaries(ranks, boundary)
    }

    /// Creates a partition from its boundaries, which ascend from 0: one per rank, and the end.
    fn with_boundaries(ranks: usize, boundary: impl Fn(usize) -> u64) -> Result<Self> {
        let mut boundaries = reserved(ranks.saturating_add(1))?;
        boundaries.extend((0..=ranks).map(boundary));
        Ok(Self { boundaries })
    }

    /// Creates a partition from its boundaries: one per rank, and the end.
    ///
    /// # Errors
    ///
    /// If there are fewer than two, the first is not 0, or one is less than the one before it.
    pub fn from_boundaries(boundaries: Vec<u64>) -> Result<Self> {
        let fail = |reason: String| Err(Error::Partition { reason });
        if boundaries.len() < 2 {
            return fail(format!("it has {} boundaries, but needs at least 2", boundaries.len()));
        }
        if boundaries[0] != 0 {
            return fail(format!("it starts with {}, but must start with 0", boundaries[0]));
        }
        match boundaries.windows(2).position(|pair| pair[0] > pair[1]) {
            None => Ok(Self { boundaries }),
            Some(rank) => {
                fail(format!("its boundaries decrease from {} to {}", boundaries[rank], boundaries[rank + 1]))
            }
        }
    }

    /// Assigns all rows to one rank.
    ///
    /// # Errors
    ///
    /// If the rank does not exist, or there is too little memory for one number per rank.
    pub fn all_on(rank: usize, rows: u64, ranks: usize) -> Result<Self> {
        if rank >= ranks {
            return Err(Error::NoSuchRank { rank, size: ranks });
        }
        Self::with_boundaries(ranks, |boundary| if boundary > rank { rows } else { 0 })
    }

    /// Divides the rows of a matrix with these row offsets into blocks of about equal numbers of rows plus
    /// nonzeros: the merge path of the row ends and the nonzeros is cut into pieces of equal length (Merrill,
    /// Garland, "Merge-based parallel sparse matrix-vector multiplication", SC 2016, section 3), and each cut
    /// is moved to the nearest row end. A row longer than a rank's share makes the blocks uneven;
    /// [`DistributedCsr::divide_evenly`](crate::DistributedCsr::divide_evenly) cuts it.
    ///
    /// # Errors
    ///
    /// If there is too little memory for one number per rank.
    pub fn by_merge_path<O: evenpath::Offset>(row_offsets: &[O], ranks: usize) -> Result<Self> {
        let ranks = ranks.max(1);
        let rows = row_offsets.len().saturating_sub(1);
        let first = row_offsets.first().map_or(0, |offset| offset.to_u64());
        let offset = |row: usize| row_offsets.get(row).map_or(first, |offset| offset.to_u64());
        // The offsets should be those of a matrix, but this is not checked.
        let path = |row: usize| (row as u64).saturating_add(offset(row).saturating_sub(first));
        let mut boundaries: Vec<u64> = reserved(ranks.saturating_add(1))?;
        boundaries.push(0);
        for rank in 1..ranks {
            let cut = nearest_row(rows, path, diagonal(path(rows), rank, ranks)) as u64;
            // If the offsets decrease, so could the cuts.
            boundaries.push(cut.max(boundaries[rank - 1]));
        }
        boundaries.push(rows as u64);
        Ok(Self { boundaries })
    }

    /// Like [`by_merge_path`](Self::by_merge_path), for a matrix of which each rank knows the lengths of the
    /// rows that `rows` assigns to it. A collective operation.
    ///
    /// # Errors
    ///
    /// If the number of lengths is not the number of the rank's rows, or the sum of rows and lengths exceeds
    /// 64 bits; if there is too little memory, or a rank failed.
    pub fn by_merge_path_of(rank: &Rank, rows: &Self, lengths: &[u64]) -> Result<Self> {
        rows.check_ranks(rank)?;
        let own = rows.range(rank.index());
        if lengths.len() as u64 != own.end - own.start {
            let reason = format!(
                "it has {} rows on this rank, but there are {} lengths",
                own.end - own.start,
                lengths.len()
            );
            return Err(Error::Partition { reason });
        }
        let path = MergePath::new(rank, lengths)?;
        Self::by_path(rank, rows, &path, |at| path.nearest_row(at))
    }

    /// Cuts the merge path of rows, which `rows` assigns to ranks, into pieces of equal length. `row` returns the
    /// first of this rank's rows after a cut, counted from its first. A collective operation.
    pub(crate) fn by_path(
        rank: &Rank,
        rows: &Self,
        path: &MergePath,
        row: impl Fn(u64) -> usize,
    ) -> Result<Self> {
        // A cut is computed by the rank whose part contains it.
        let first = rows.range(rank.index()).start;
        let mut cuts: Vec<u64> = Vec::new();
        for boundary in 1..rank.size() {
            let at = path.share(boundary);
            if path.has(at) {
                cuts.extend([boundary as u64, first + row(at) as u64]);
            }
        }
        let mut boundaries = Self::all_on(0, rows.nrows(), rank.size())?.boundaries;
        for cut in rank.all_gather(&cuts)?.iter().flat_map(|cuts| cuts.chunks_exact(2)) {
            boundaries[cut[0] as usize] = cut[1];
        }
        Self::from_boundaries(boundaries)
    }

    /// Number of rows, on all ranks.
    pub fn nrows(&self) -> u64 {
        self.boundaries[self.boundaries.len() - 1]
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.boundaries.len() - 1
    }

    /// Start of each rank's rows, and the end of the last.
    pub fn boundaries(&self) -> &[u64] {
        &self.boundaries
    }

    /// The rows of a rank; empty if `rank` is out of range.
    pub fn range(&self, rank: usize) -> Range<u64> {
        match self.boundaries.get(rank..rank.saturating_add(2)) {
            Some(&[start, end]) => start..end,
            _ => self.nrows()..self.nrows(),
        }
    }

    /// Number of rows of a rank.
    pub fn len(&self, rank: usize) -> u64 {
        let range = self.range(rank);
        range.end - range.start
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.nrows() == 0
    }

    /// Rank that owns a row; the last rank if `row` is out of range.
    pub fn owner(&self, row: u64) -> usize {
        let inner = &self.boundaries[1..self.boundaries.len() - 1];
        inner.partition_point(|&boundary| boundary <= row)
    }

    /// Returns an error unless there is one block per rank.
    pub(crate) fn check_ranks(&self, rank: &Rank) -> Result<()> {
        if self.ranks() == rank.size() {
            return Ok(());
        }
        let reason = format!("it has {} ranks, but the cluster has {}", self.ranks(), rank.size());
        Err(Error::Partition { reason })
    }

    /// Returns an error unless an operand has the same partition.
    pub(crate) fn check_same(&self, operand: &'static str, found: &Self) -> Result<()> {
        if self == found {
            return Ok(());
        }
        Err(Error::PartitionMismatch { operand, found: found.to_string(), needed: self.to_string() })
    }
}

impl fmt::Display for RowPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows over {} ranks", self.nrows(), self.ranks())?;
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
        for (boundaries, reason) in [
            (vec![0], "needs at least 2"),
            (vec![1, 2], "start with 0"),
            (vec![0, 5, 3], "decrease from 5 to 3"),
        ] {
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
            assert_eq!((partition.nrows(), partition.ranks()), (1000, ranks));
            let even = (1000 + offsets[1000]) / ranks as u64;
            for rank in 0..ranks {
                let range = partition.range(rank);
                let work =
                    range.end - range.start + offsets[range.end as usize] - offsets[range.start as usize];
                // Each of two cuts is off by at most half of the longest row.
                assert!(work.abs_diff(even) <= 98, "{work} of {even}, rank {rank} of {ranks}");
            }
        }
        assert_eq!(RowPartition::by_merge_path::<u32>(&[], 3).unwrap().boundaries(), [0; 4]);
        assert_eq!(RowPartition::by_merge_path(&[0_u32, 10], 3).unwrap().boundaries(), [0, 0, 1, 1]);
        // Invalid offsets give some partition.
        let boundaries =
            RowPartition::by_merge_path(&[7_u32, 3, 9, 0, 1, u32::MAX, 2], 4).unwrap().boundaries().to_vec();
        assert_eq!(RowPartition::from_boundaries(boundaries).unwrap().nrows(), 6);
        assert_eq!(RowPartition::by_merge_path(&[0, u64::MAX, u64::MAX], 2).unwrap().nrows(), 2);
    }

    #[test]
    fn too_many_ranks_for_memory_are_refused() {
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
    fn sums_of_lengths_beyond_64_bits_are_refused() {
        for lengths in
            [[u64::MAX, 0], [u64::MAX - 1, 1], [1 << 63, 1 << 63], [1 << 62, 1 << 62], [1 << 61, 1 << 62]]
        {
            let mut cluster = Cluster::local(vec![Device::cpu(); 2]).unwrap();
            let found = cluster.run(|rank| {
                let rows = RowPartition::even(4, 2)?;
                RowPartition::by_merge_path_of(rank, &rows, &lengths).map(|partition| partition.nrows())
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
