//! Sums of two trees (thesis, chapter 6): the nodes of A and B at one place, level by level, and the union of their entries.
//!
//! A pair of nodes is merged by a warp where both are sparse and small, and by a block where one is large or dense: the
//! block marks entries in bitmaps of the node's places, so that it does not matter how they are ordered. Either way entries
//! of B are handed on first, then those of A, each with its number in the union and whether the other node has it too.

mod children;
mod count;
mod fill;
mod large;
mod pairs;
mod small;

pub use children::HiSparseAddChildren;
pub use count::HiSparseCountSums;
pub use fill::HiSparseAddLeaves;

use evenpath_simt::Element;

use super::layout;
use super::node::{Node, Pool};

/// What is known of a sum's operands, as bits of a kernel's parameter.
pub mod state {
    /// A is turned against the sum.
    pub const A_TRANSPOSED: u32 = 1;
    /// B is turned against the sum.
    pub const B_TRANSPOSED: u32 = 2;
    /// A's values are multiplied with its factor.
    pub const A_SCALED: u32 = 4;
    /// B's values are multiplied with its factor.
    pub const B_SCALED: u32 = 8;
}

/// Bytes of shared memory that launches of these kernels choose, for blocks of so many threads.
pub const fn sum_shared_bytes(d_log2: u32, block_size: u32) -> u32 {
    let (small, large) = (small::bytes(block_size), large::bytes(d_log2));
    if small > large {
        small
    } else {
        large
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
}

/// The nodes of both trees at one place, one of them at least.
#[derive(Debug, Clone, Copy)]
struct Pair {
    a: Part,
    b: Part,
}

/// An entry of one of two nodes.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// Its number in the union of both nodes' entries.
    rank: u32,
    /// Its coordinates in the sum.
    coordinates: u32,
    /// Its slot in its node.
    slot: u32,
}

/// What becomes of a pair's entries. All those of B come first.
trait Sink {
    fn put_b(&self, entry: Entry, in_a: bool);
    fn put_a(&self, entry: Entry, in_b: bool);
}

impl<T: Element> Side<T> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn part(self, reference: u32) -> Part {
        let len = if reference == layout::NULL { 0 } else { self.pool.slot_count(reference, self.d_log2) };
        Part { reference, len }
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
}
