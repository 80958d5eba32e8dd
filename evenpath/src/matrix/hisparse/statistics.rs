//! Statistics of a tree: nodes, entries, bytes.

use std::fmt;
use std::ops::Range;

use rayon::prelude::*;

use super::super::node_fault::NodeKind;
use super::matrix::HiSparse;
use super::node::{Reference, SlotContent, StoredNode, UNIT_BYTES, Unit};
use crate::{Value, parallel};

/// Nodes of one kind.
///
/// ```
/// use evenpath::{Csr, HiSparse, hisparse};
///
/// let a: Csr<f32> = Csr::from_triplets(200, 200, [(0, 0, 1.0), (0, 1, 2.0), (150, 3, 2.0)])?;
/// let tree: HiSparse<f32> = a.to_hisparse(hisparse::Options::default())?;
/// let statistics = tree.statistics();
///
/// let leaves = statistics.levels[1].sparse(); // below the root's level
/// assert_eq!((leaves.nodes, leaves.entries, leaves.mean_entries()), (2, 3, 1.5));
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeStatistics {
    /// The number of nodes.
    pub nodes: u64,
    /// The total number of children or, for leaves, of nonzeros.
    pub entries: u64,
    /// The total number of bytes; saturates at 2⁶⁴ − 1, which shared nodes may exceed.
    pub bytes: u64,
}

/// The nodes of one level.
///
/// ```
/// use evenpath::{Csr, HiSparse, hisparse};
///
/// let a: Csr<f32> = Csr::from_triplets(200, 200, [(0, 0, 1.0), (0, 1, 2.0), (150, 3, 2.0)])?;
/// let tree: HiSparse<f32> = a.to_hisparse(hisparse::Options::default())?;
/// let statistics = tree.statistics();
///
/// assert_eq!(statistics.levels.len(), tree.depth());
/// assert_eq!(statistics.levels[1].sparse().nodes, 2); // leaves
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LevelStatistics {
    kinds: [NodeStatistics; 4],
}

/// The nodes of a [`HiSparse`] by level and kind (thesis, Figure 7.1), and bytes per nonzero compared with other
/// formats (Figure 3.2). A shared node counts once for every position that it has in the matrix.
///
/// ```
/// use evenpath::hisparse::{self, NodeKind};
/// use evenpath::{Csr, HiSparse};
///
/// let a: Csr<f32> = Csr::from_triplets(200, 200, (0..200).map(|i| (i, i, 1.0)))?;
/// let a: HiSparse<f32> = a.to_hisparse(hisparse::Options::default())?;
/// let statistics = a.statistics();
/// assert_eq!(statistics.levels[0].kind(NodeKind::Coo2).nodes, 1);
/// assert_eq!(statistics.levels[1].kind(NodeKind::Coo4).entries, 200);
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Statistics {
    /// The levels from the root to the leaves; empty if there are no nonzeros.
    pub levels: Vec<LevelStatistics>,
    /// Rows of the matrix.
    pub nrows: usize,
    /// Nonzeros of the matrix.
    pub nnz: u64,
    /// Bytes per value.
    pub value_bytes: usize,
    /// Bytes of the pool.
    pub pool_bytes: u64,
    /// Bytes saved by sharing nodes.
    pub saved_bytes: u64,
}

impl LevelStatistics {
    /// The nodes of one kind.
    pub fn kind(&self, kind: NodeKind) -> NodeStatistics {
        self.kinds[kind as usize]
    }

    /// The nodes of all sparse kinds.
    pub fn sparse(&self) -> NodeStatistics {
        [NodeKind::Coo1, NodeKind::Coo2, NodeKind::Coo4]
            .into_iter()
            .fold(NodeStatistics::default(), |sum, kind| sum.and(self.kind(kind)))
    }

    /// All nodes.
    pub fn all(&self) -> NodeStatistics {
        self.sparse().and(self.kind(NodeKind::Dense))
    }
}

impl NodeStatistics {
    fn and(self, other: Self) -> Self {
        Self {
            nodes: self.nodes + other.nodes,
            entries: self.entries + other.entries,
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Mean entries per node; 0 if there are no nodes.
    pub fn mean_entries(&self) -> f64 {
        self.entries as f64 / self.nodes.max(1) as f64
    }
}

impl Statistics {
    /// Bytes of the pool per nonzero; NaN if there are no nonzeros.
    pub fn bytes_per_nonzero(&self) -> f64 {
        self.per_nonzero(self.pool_bytes as f64)
    }

    /// Bytes per nonzero in CSR with u32 row offsets; NaN if there are no nonzeros.
    pub fn csr_bytes_per_nonzero(&self) -> f64 {
        self.per_nonzero(self.nnz as f64 * (4 + self.value_bytes) as f64 + 4.0 * (self.nrows as f64 + 1.0))
    }

    /// Bytes per nonzero in COO; NaN if there are no nonzeros.
    pub fn coo_bytes_per_nonzero(&self) -> f64 {
        self.per_nonzero(self.nnz as f64 * (8 + self.value_bytes) as f64)
    }

    fn per_nonzero(&self, bytes: f64) -> f64 {
        if self.nnz == 0 { f64::NAN } else { bytes / self.nnz as f64 }
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "level        dense       COO1       COO2       COO4     entries/node          bytes")?;
        for (number, level) in self.levels.iter().enumerate() {
            let nodes = |kind| level.kind(kind).nodes;
            let all = level.all();
            writeln!(
                f,
                "{number:>5} {:>12} {:>10} {:>10} {:>10} {:>16.1} {:>14}",
                nodes(NodeKind::Dense),
                nodes(NodeKind::Coo1),
                nodes(NodeKind::Coo2),
                nodes(NodeKind::Coo4),
                all.mean_entries(),
                all.bytes
            )?;
        }
        writeln!(f, "pool: {} bytes; shared nodes save {}", self.pool_bytes, self.saved_bytes)?;
        write!(
            f,
            "bytes per nonzero: {:.2}, CSR {:.2}, COO {:.2}",
            self.bytes_per_nonzero(),
            self.csr_bytes_per_nonzero(),
            self.coo_bytes_per_nonzero()
        )
    }
}

/// The distinct nodes of a level, each with its number of positions.
type Distinct = Vec<(Reference, u64)>;

impl<V: Value, const D: usize> HiSparse<V, D> {
    /// Statistics of the tree of an m x n matrix. Visits every node once.
    ///
    /// ```
    /// use evenpath::{Csr, HiSparse, hisparse};
    ///
    /// let a: HiSparse<f64> = Csr::from_triplets(2, 300, [(1, 299, 3.0)])?.to_hisparse(hisparse::Options::default())?;
    /// assert_eq!((a.statistics().nnz, a.statistics().levels.len()), (1, 2));
    /// # Ok::<(), evenpath::error::MatrixError>(())
    /// ```
    pub fn statistics(&self) -> Statistics {
        let mut nodes: Distinct = if self.root().is_null() { Vec::new() } else { vec![(self.root(), 1)] };
        let (mut levels, mut stored_bytes) = (Vec::new(), 0);
        for level in 0..self.depth() {
            if nodes.is_empty() {
                break;
            }
            let (statistics, bytes) = if level + 1 == self.depth() {
                level_statistics::<V>(self.units(), &nodes, D)
            } else {
                level_statistics::<Reference>(self.units(), &nodes, D)
            };
            levels.push(statistics);
            stored_bytes += bytes;
            if level + 1 < self.depth() {
                nodes = next_level(self.units(), &nodes, D);
            }
        }
        let tree_bytes = levels.iter().fold(0_u64, |sum, level| sum.saturating_add(level.all().bytes));
        Statistics {
            nrows: self.nrows(),
            nnz: levels.last().map_or(0, |leaves| leaves.all().entries),
            levels,
            value_bytes: size_of::<V>(),
            pool_bytes: self.pool().len() as u64,
            saved_bytes: tree_bytes - stored_bytes,
        }
    }
}

/// Nodes per task.
const GRAIN: usize = 64;

/// Statistics of distinct nodes, and their bytes counted once.
fn level_statistics<T: SlotContent + Send + Sync>(
    pool: &[Unit],
    nodes: &Distinct,
    d: usize,
) -> (LevelStatistics, u64) {
    let one = |&(reference, places): &(Reference, u64)| {
        let entries = StoredNode::<T>::at(pool, reference, d).len();
        let bytes = (reference.kind().units::<T>(entries, d) * UNIT_BYTES) as u64;
        let mut level = LevelStatistics::default();
        level.kinds[reference.kind() as usize] = NodeStatistics {
            nodes: places,
            entries: places * entries as u64,
            bytes: places.saturating_mul(bytes),
        };
        (level, bytes)
    };
    let add = |(a, a_bytes): (LevelStatistics, u64), (b, b_bytes): (LevelStatistics, u64)| {
        let kinds = std::array::from_fn(|kind| a.kinds[kind].and(b.kinds[kind]));
        (LevelStatistics { kinds }, a_bytes + b_bytes)
    };
    let part = |range: Range<usize>| nodes[range].iter().map(one).fold(Default::default(), add);
    parallel::reduce(nodes.len(), GRAIN, Default::default(), part, add)
}

/// The distinct children of inner nodes, with their number of positions.
fn next_level(pool: &[Unit], nodes: &Distinct, d: usize) -> Distinct {
    let children = |&(reference, places): &(Reference, u64)| {
        StoredNode::<Reference>::at(pool, reference, d).entries(d).map(move |(_, child)| (child, places))
    };
    let mut next: Distinct = nodes.par_iter().flat_map_iter(children).collect();
    next.par_sort_unstable_by_key(|&(child, _)| child);
    next.dedup_by(|(child, places), (kept, sum)| {
        let is_same = child == kept;
        if is_same {
            *sum += *places;
        }
        is_same
    });
    next
}
