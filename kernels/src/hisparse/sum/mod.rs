//! Sums of two trees (thesis, chapter 6): the nodes of A and B at one place, level by level, and the union of their entries.
//!
//! A pair of nodes is merged by a thread where both have a few entries, by a warp where both are sparse and small, and by a
//! block where one is large or dense: the block goes through dense nodes slot by slot, and marks the entries of sparse ones
//! in bitmaps of the node's places, so that it does not matter how they are ordered. Entries are counted by bitmaps in
//! warps too.

mod children;
mod count;
mod fill;
mod large;
mod marks;
mod pairs;
mod slots;
mod small;
mod tiny;

pub use children::HiSparseAddChildren;
pub use count::HiSparseCountSums;
pub use fill::HiSparseAddLeaves;

use evenpath_simt::{Element, Packet};

use super::layout;
use super::node::{Node, Pool};

/// What is known of a sum's operands, as bits of a kernel's parameter.
pub mod state {
    /// B is turned against the sum. A never is: of two that both are, so is the sum, and otherwise the one that is comes
    /// second.
    pub const B_TRANSPOSED: u32 = 1;
    /// A's values are multiplied with its factor.
    pub const A_SCALED: u32 = 2;
    /// B's values are multiplied with its factor.
    pub const B_SCALED: u32 = 4;
}

/// Bytes of shared memory that launches of the kernels that merge choose, for blocks of so many threads.
pub const fn merge_shared_bytes(d_log2: u32, block_size: u32) -> u32 {
    larger(small::bytes(block_size), large::bytes(d_log2))
}

/// Bytes of shared memory that launches of the kernels that count choose, for blocks of so many threads.
pub const fn count_shared_bytes(d_log2: u32, block_size: u32) -> u32 {
    larger(marks::bytes(d_log2, block_size), large::bytes(d_log2))
}

const fn larger(a: u32, b: u32) -> u32 {
    if a > b {
        a
    } else {
        b
    }
}

/// One of the trees.
#[derive(Clone, Copy)]
struct Side<T> {
    pool: Pool<T>,
    is_transposed: bool,
    d_log2: u32,
}

/// A node of one tree.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Null where there is no node.
    reference: u32,
    /// Slots: entries of a sparse node, all of a dense one, none where there is no node.
    len: u32,
    /// The first unit of a sparse node, with the count and the first coordinates.
    head: Packet,
}

/// The nodes of both trees at one place, one of them at least.
#[derive(Debug, Clone, Copy)]
struct Pair {
    a: Part,
    b: Part,
}

/// Where in the sum an entry is.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Its number in the union of both nodes' entries.
    rank: u32,
    /// Its coordinates.
    coordinates: u32,
}

/// What becomes of a pair's entries.
trait Sink<T> {
    /// Whether the numbers of entries matter.
    fn is_ordered(&self) -> bool;

    /// Takes an entry of the union, with its slots in those nodes that have it.
    fn put(&self, place: Place, a: Option<T>, b: Option<T>);

    /// Adds a slot of A's node, or of B's, to an entry that the block has put of the other one alone.
    fn join(&self, place: Place, slot: T, is_of_b: bool);
}

impl Part {
    #[inline(always)]
    fn is_dense(self) -> bool {
        self.reference != layout::NULL && layout::kind(self.reference) == layout::DENSE
    }
}

impl<T: Element> Side<T> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn part(self, reference: u32) -> Part {
        let is_dense = layout::kind(reference) == layout::DENSE;
        let first = layout::unit(reference) as usize * layout::UNIT_WORDS as usize;
        let head = self.pool.words.load_16_if(first, !is_dense);
        let len = if !is_dense {
            head[0] as u32
        } else if reference == layout::NULL {
            0
        } else {
            1 << (2 * self.d_log2)
        };
        Part { reference, len, head }
    }

    /// The node, which is no node where the reference is null.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn node(self, part: Part) -> Node<T> {
        self.pool.node_of_len(part.reference, part.len)
    }

    /// Coordinates in the sum.
    #[inline(always)]
    fn oriented(self, coordinates: u32) -> u32 {
        if self.is_transposed {
            let (row, col) = layout::unpack(coordinates);
            layout::pack(col, row)
        } else {
            coordinates
        }
    }

    /// The slot that a dense node has for a place in the sum.
    #[inline(always)]
    fn slot_of(self, row: u32, col: u32) -> u32 {
        if self.is_transposed {
            col << self.d_log2 | row
        } else {
            row << self.d_log2 | col
        }
    }
}
