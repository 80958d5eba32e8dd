//! Sums of two trees (Derler 2016, chapter 6): the nodes of A and B at the same position are merged, and the sum's node has the
//! union of their entries. Either level by level, by a kernel per level, or by [queues](HiSparseQueuedSum), by one kernel
//! for all levels.
//!
//! A pair of nodes is merged by a thread if both have a few entries, by a warp if both are sparse and small, and by a block if
//! one is large or dense. The block scans dense nodes slot by slot, and marks the entries of sparse nodes in bitmaps, so that
//! their order does not matter. Warps count entries with bitmaps as well.

mod children;
mod count;
mod fill;
mod large;
mod levels;
mod marks;
mod pairs;
mod queued;
mod slots;
mod small;
mod tiny;

pub use children::{children_shared_bytes, HiSparseAddChildren};
pub use count::HiSparseCountSums;
pub use fill::HiSparseAddLeaves;
pub use levels::{
    sum_tile_words, SumLevels, SumNodes, SumPlaces, SUM_ENDS, SUM_LEVEL_UNITS, SUM_LEVEL_WORDS, SUM_ROOT,
};
pub use pairs::NodePairs;
pub use queued::{
    queued_shared_bytes, HiSparseQueuedSum, QueuedPair, SumPool, SumQueues, SumTrees, ENTRIES, ROOT,
    SUM_RESULTS, UNITS,
};

use evenpath_simt::{Element, Packet};

use super::layout;
use super::node::{Node, Pool};

/// Properties of a sum's operands, as bits of a kernel's parameter.
pub mod state {
    /// B is transposed relative to the sum. A never is: if both operands are transposed, so is the sum, and if one is, it comes
    /// second.
    pub const B_TRANSPOSED: u32 = 1;
    /// A's values are multiplied by its factor.
    pub const A_SCALED: u32 = 2;
    /// B's values are multiplied by its factor.
    pub const B_SCALED: u32 = 4;
}

/// Bytes of launch-sized shared memory of the kernels that merge, for blocks of `block_size` threads.
pub const fn merge_shared_bytes(d_log2: u32, block_size: u32) -> u32 {
    larger(small::bytes(block_size), large::bytes(d_log2))
}

/// Bytes of launch-sized shared memory of the kernels that count, for blocks of `block_size` threads.
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
struct Side<T: Element> {
    pool: Pool<T>,
    is_transposed: bool,
    d_log2: u32,
}

/// A node of one tree.
#[derive(Debug, Clone, Copy)]
struct Part {
    /// Null if there is no node.
    reference: u32,
    /// The number of slots: one per entry of a sparse node, D² of a dense one, none if there is no node.
    len: u32,
    /// The first unit of a sparse node, with the count and the first coordinates.
    head: Packet,
}

/// The nodes of both trees at one position. At least one of them exists.
#[derive(Debug, Clone, Copy)]
struct Pair {
    a: Part,
    b: Part,
}

/// The position of an entry in the sum.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Its rank in the union of both nodes' entries.
    rank: u32,
    /// Its coordinates.
    coordinates: u32,
}

/// Takes a pair's entries.
trait Sink<T> {
    /// Whether the ranks of entries matter.
    fn is_ordered(&self) -> bool;

    /// Takes an entry of the union, with its slots in the nodes that have it.
    fn put(&self, place: Place, a: Option<T>, b: Option<T>);

    /// Adds a slot of A's node, or of B's, to an entry that the block has put with the other one's slot alone.
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

    /// The node; without slots if the reference is null.
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

    /// The slot of a dense node at a position in the sum.
    #[inline(always)]
    fn slot_of(self, row: u32, col: u32) -> u32 {
        if self.is_transposed {
            col << self.d_log2 | row
        } else {
            row << self.d_log2 | col
        }
    }
}
