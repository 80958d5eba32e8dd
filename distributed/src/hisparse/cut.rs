//! Partition of a tree's leaves among ranks.
//!
//! Leaves are in the tree's order: children by row and then column, on every level. Consecutive leaves form
//! whole subtrees, with parts of one at each end, so each rank gets neighbors.

use crate::Rank;
use crate::error::Result;
use crate::memory::filled;

/// Position of a leaf in the tree's order: a digit of its row and one of its column for each level, the
/// root's in the highest bits. Levels above the root would be zero, so the number does not depend on the
/// depth.
pub(super) type Path = u128;

/// Path to the leaf of an entry.
pub(super) fn path<const D: usize>(row: u64, column: u64) -> Path {
    let bits = D.ilog2();
    let (mut row, mut column) = (row >> bits, column >> bits);
    let (mut path, mut shift) = (0, 0);
    while row | column != 0 {
        let digit = |index: u64| Path::from(index & (D as u64 - 1));
        path |= (digit(row) << bits | digit(column)) << shift;
        (row, column, shift) = (row >> bits, column >> bits, shift + 2 * bits);
    }
    path
}

/// Partition of leaves among ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeafPartition {
    /// First path of every rank except rank 0, ascending.
    cuts: Vec<Path>,
}

impl LeafPartition {
    /// Rank that owns a leaf.
    pub(super) fn owner(&self, path: Path) -> usize {
        self.cuts.partition_point(|&cut| cut <= path)
    }

    /// Divides leaves into blocks of about equal numbers of entries, given the leaves in which each rank has
    /// some: paths and numbers of entries. A leaf may occur more than once, and on several ranks. A rank's
    /// number of entries differs from the mean by at most those of a leaf. A collective operation.
    pub(super) fn even(rank: &Rank, leaves: Vec<(Path, u64)>) -> Result<Self> {
        let leaves = RankLeaves::new(leaves);
        let counted = [leaves.total(), u64::from(Path::BITS - leaves.last().leading_zeros())];
        let all = rank.all_gather(&counted)?;
        let total: u64 = all.iter().map(|part| part[0]).sum();
        let bits = all.iter().map(|part| part[1]).max().unwrap_or_default();
        let targets: Vec<u64> = (1..rank.size())
            .map(|boundary| (u128::from(total) * boundary as u128 / rank.size() as u128) as u64)
            .collect();
        // Each cut is the first path with at least its target of entries before it. All cuts are bisected
        // together.
        let mut ranges: Vec<(Path, Path)> = filled(&(0, 1 << bits), targets.len())?;
        for _ in 0..=bits {
            let middles: Vec<Path> = ranges.iter().map(|&(low, high)| low.midpoint(high)).collect();
            let before = leaves.before_all(rank, &middles)?;
            for (at, (low, high)) in ranges.iter_mut().enumerate() {
                let is_below = before[at] < targets[at] && low < high;
                if is_below { *low = middles[at] + 1 } else { *high = middles[at] }
            }
        }
        // The cut goes before or after the leaf that ends there, whichever is nearer.
        let after: Vec<Path> = ranges.iter().map(|range| range.0).collect();
        let begin: Vec<Path> = after.iter().map(|path| path.saturating_sub(1)).collect();
        let (to_begin, to_end) = (leaves.before_all(rank, &begin)?, leaves.before_all(rank, &after)?);
        let nearest = |at: usize| {
            let target = targets[at];
            let is_begin = target.abs_diff(to_begin[at]) < target.abs_diff(to_end[at]);
            if is_begin { begin[at] } else { after[at] }
        };
        Ok(Self { cuts: (0..targets.len()).map(nearest).collect() })
    }
}

/// Leaves in which a rank has entries.
struct RankLeaves {
    /// Ascending, without duplicates.
    paths: Vec<Path>,
    /// Number of entries before each path, and in total.
    offsets: Vec<u64>,
}

impl RankLeaves {
    fn new(mut leaves: Vec<(Path, u64)>) -> Self {
        leaves.sort_unstable_by_key(|leaf| leaf.0);
        let (mut paths, mut offsets) = (Vec::new(), vec![0]);
        for same in leaves.chunk_by(|a, b| a.0 == b.0) {
            paths.push(same[0].0);
            offsets.push(offsets[offsets.len() - 1] + same.iter().map(|leaf| leaf.1).sum::<u64>());
        }
        Self { paths, offsets }
    }

    fn total(&self) -> u64 {
        self.offsets[self.paths.len()]
    }

    fn last(&self) -> Path {
        self.paths.last().copied().unwrap_or_default()
    }

    /// Number of entries of all ranks before each of these paths. A collective operation.
    fn before_all(&self, rank: &Rank, paths: &[Path]) -> Result<Vec<u64>> {
        let before = |path: &Path| self.offsets[self.paths.partition_point(|other| other < path)];
        let own: Vec<u64> = paths.iter().map(before).collect();
        rank.all_reduce(&own, |sum, count| sum + count)
    }
}

#[cfg(test)]
mod tests {
    use evenpath::Device;

    use super::*;
    use crate::{Cluster, Error};

    #[test]
    fn paths_follow_the_tree() {
        assert_eq!(path::<32>(31, 31), 0);
        assert_eq!(path::<32>(32, 31), 1 << 5);
        assert_eq!(path::<32>(31, 32), 1);
        // If a child of the root comes later, so do all its leaves.
        assert!(path::<32>(0, 32 * 32) > path::<32>(32 * 32 - 1, 32 * 32 - 1));
        assert!(path::<32>(32 * 32, 0) > path::<32>(32 * 32 - 1, 2 * 32 * 32 - 1));
        assert_eq!(path::<256>(u64::MAX, u64::MAX), (1 << 112) - 1);
        assert_eq!(path::<32>(u64::MAX, u64::MAX).leading_zeros(), 128 - 119);
    }

    /// The partition that ranks compute together, each with some of the leaves.
    fn partition(ranks: usize, leaves: &[(Path, u64)]) -> LeafPartition {
        let mut cluster = Cluster::local(vec![Device::cpu(); ranks]).unwrap();
        let found = cluster.run(|rank| {
            let own = leaves.iter().enumerate().filter(|(at, _)| at % ranks == rank.index());
            LeafPartition::even(rank, own.map(|(_, &leaf)| leaf).collect())
        });
        let found = found.unwrap();
        assert!(found.iter().all(|other| *other == found[0]), "the same on all ranks");
        found[0].clone()
    }

    #[test]
    fn entries_are_even() {
        let leaves: Vec<(Path, u64)> =
            (0..500_u64).map(|at| (Path::from(at * at * 1_000_003), at * 37 % 50)).collect();
        let total: u64 = leaves.iter().map(|leaf| leaf.1).sum();
        for ranks in [1, 2, 3, 8] {
            let partition = partition(ranks, &leaves);
            let mut entries = vec![0; ranks];
            for &(path, count) in &leaves {
                entries[partition.owner(path)] += count;
            }
            for count in entries {
                assert!(count.abs_diff(total / ranks as u64) <= 50, "{count} of {total} on one of {ranks}");
            }
        }
    }

    /// Leaves in several pieces, one heavy leaf, fewer leaves than ranks, and none.
    #[test]
    fn cuts_ascend() {
        for leaves in [
            vec![],
            vec![(0, 5)],
            vec![(7, 1), (3, 1000), (7, 2), (3, 1)],
            vec![(1 << 117, 3), (0, 1), (9, 1)],
        ] {
            for ranks in [1, 2, 5] {
                let partition = partition(ranks, &leaves);
                assert!(partition.cuts.is_sorted(), "{partition:?}");
                assert!(leaves.iter().all(|leaf| partition.owner(leaf.0) < ranks));
            }
        }
        assert_eq!(partition(2, &[(3, 10), (7, 10)]).cuts, [4]);
        assert_eq!(partition(2, &[(3, 10), (7, 1000)]).cuts, [7]);
    }

    #[test]
    fn a_failing_rank_ends_the_partition() {
        let mut cluster = Cluster::local(vec![Device::cpu(); 2]).unwrap();
        let error = cluster.run(|rank| {
            if rank.index() == 1 {
                return Err(Error::Empty);
            }
            LeafPartition::even(rank, vec![(0, 1)]).map(|_| ())
        });
        assert!(matches!(error, Err(Error::Empty)));
    }
}
