//! Kinds of nodes of a HiSparse matrix, and what is wrong with one.

use evenpath_kernels::hisparse::layout;
use thiserror::Error;

/// Storage kind of a node of [`HiSparse`](crate::HiSparse). The discriminant is stored in the low bits of
/// references.
///
/// ```
/// use evenpath::hisparse::{self, NodeKind};
/// use evenpath::{Csr, HiSparse};
///
/// let a: Csr<f32> = Csr::from_triplets(200, 200, [(0, 0, 1.0), (0, 1, 2.0), (150, 3, 2.0)])?;
/// let tree: HiSparse<f32> = a.to_hisparse(hisparse::Options::default())?;
///
/// assert!(tree.nodes().all(|node| node.kind != NodeKind::Dense)); // they have few entries
/// # Ok::<(), evenpath::error::MatrixError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// All d² slots, row by row.
    Dense = layout::DENSE as isize,
    /// COO₁: one entry.
    Coo1 = layout::COO1 as isize,
    /// COO₂: two entries, loaded together by one thread.
    Coo2 = layout::COO2 as isize,
    /// COO₄: three or more entries, loaded four at a time by one thread.
    Coo4 = layout::COO4 as isize,
}

impl NodeKind {
    /// All kinds, by discriminant.
    pub const ALL: [Self; 4] = [Self::Dense, Self::Coo1, Self::Coo2, Self::Coo4];

    /// The kind of a `d` x `d` node with `count` entries of type `T`: the sparse kind for that count, or dense if that is
    /// smaller.
    pub(crate) fn of<T>(count: usize, d: usize) -> Self {
        // An invalid count, in a pool that is being checked, is dense, like a full node.
        Self::ALL[layout::kind_of(count.min(d * d) as u32, d.ilog2(), size_of::<T>() as u32) as usize]
    }

    /// Units of a node of this kind.
    pub(crate) fn units<T>(self, count: usize, d: usize) -> usize {
        layout::units(self as u32, count as u32, d.ilog2(), size_of::<T>() as u32) as usize
    }

    /// Offset in bytes of the values of a sparse node, aligned for vector loads.
    pub(crate) fn values_offset<T>(self, count: usize) -> usize {
        layout::slots_offset(self as u32, count as u32, size_of::<T>() as u32) as usize
    }
}

/// Error in a node of a [`HiSparse`](crate::HiSparse) pool. Rows and columns count from 0 within the node.
///
/// ```
/// use evenpath::error::MatrixError;
/// use evenpath::hisparse::NodeFault;
/// use evenpath::HiSparse;
///
/// // A sparse leaf with an entry count of 0.
/// match HiSparse::<f64, 32>::try_from_pool(32, 32, &[0; 16], 0x1) {
///     Err(MatrixError::HiSparseNode(node)) => println!("{}: {}", node.offset, node.fault),
///     other => unreachable!("{other:?}"),
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum NodeFault {
    #[error("the first 16 bytes of a pool are reserved")]
    Reserved,
    #[error("it needs {bytes} bytes at this offset, but the pool has only {pool} in total")]
    OutsidePool { bytes: u64, pool: u64 },
    #[error("it has no entries: a reference to it must be null")]
    Empty,
    #[error("it has {count} entries, so it must be {expected:?} instead of {found:?}")]
    Kind { count: usize, found: NodeKind, expected: NodeKind },
    #[error("entry {entry} is at row {row}, column {col} of a {size} x {size} node")]
    OutsideNode { entry: usize, row: usize, col: usize, size: usize },
    #[error("the entry at row {row}, column {col} is outside the matrix")]
    OutsideMatrix { row: usize, col: usize },
    #[error("entry {entry} does not come after the one before it")]
    NotAscending { entry: usize },
    #[error("entry {entry} is a null reference")]
    NullChild { entry: usize },
    #[error("its padding at byte {byte} is not 0")]
    Padding { byte: usize },
    #[error("it overlaps another node, at byte {other} of the pool")]
    Overlap { other: u64 },
}

/// An invalid node of a [`HiSparse`](crate::HiSparse) pool: its location and the error.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("node at byte {offset} of the pool, in level {level}, at row {row} and column {col}: {fault}")]
#[non_exhaustive]
pub struct InvalidNode {
    /// Its offset in the pool, in bytes.
    pub offset: u64,
    /// The level, 0 for the root.
    pub level: usize,
    /// The first row that it covers, at one of its positions.
    pub row: u64,
    /// The first column that it covers there.
    pub col: u64,
    /// The error.
    pub fault: NodeFault,
}

evenpath_simt::debug_as_message!(NodeFault, InvalidNode);
