//! Products of two trees: leaves are multiplied like entries of a sparse matrix, and two leaves like sparse matrices of
//! their own, by rows (Gustavson, "Two fast algorithms for sparse matrices", 1978).
//!
//! For each leaf (i, k) of A and each leaf (k, j) of B there is a *pair*, sorted by the leaf (i, j) of C and then by k. A
//! block takes a leaf of C: it finds the pattern from the bitmaps of its pairs, and adds the products up in shared memory.
//! A sum belongs to one thread, which adds its products by ascending column of A.

mod bits;
mod candidates;
mod count;
mod fill;
mod pairs;
mod pattern;
mod staged;
mod sums;

pub use candidates::{HiSparseListCandidates, HiSparseListFilled, HiSparseMarkCandidates};
pub use count::HiSparseCountProducts;
pub use fill::{product_shared_bytes, HiSparseMultiplyLeaves};
pub use pairs::{HiSparseCountPairs, HiSparseListPairs};
pub use pattern::pattern_shared_bytes;

use evenpath_simt::{thread, Element};

use super::layout;
use super::node::{Node, Pool};

/// What is known of a product's operands, as bits of a kernel's parameter.
pub mod state {
    /// A is the transpose of its content.
    pub const A_TRANSPOSED: u32 = 1;
    /// B is the transpose of its content.
    pub const B_TRANSPOSED: u32 = 2;
}

/// One of the trees that are multiplied.
#[derive(Clone, Copy)]
struct Factor<T> {
    pool: Pool<T>,
    is_transposed: bool,
    d_log2: u32,
}

impl<T: Element> Factor<T> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn node(self, reference: u32) -> Node<T> {
        self.pool.node(reference, self.d_log2)
    }

    /// Row and column as the factor has them, from those of its content; or the other way round.
    #[inline(always)]
    fn turned(self, (row, col): (u32, u32)) -> (u32, u32) {
        if self.is_transposed {
            (col, row)
        } else {
            (row, col)
        }
    }

    /// Calls `visit` for each entry of a leaf, in the block's threads, with row and column in the factor.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn for_each_entry<const BLOCK: usize>(self, reference: u32, visit: impl Fn(u32, u32)) {
        let node = self.node(reference);
        let is_dense = layout::kind(reference) == layout::DENSE;
        let mut slot = thread::index();
        while slot < node.len {
            if !is_dense {
                let (row, col) = self.turned(layout::unpack(u32::from(node.coordinates.load(slot as usize))));
                visit(row, col);
            } else if node.slots.load(slot as usize).to_bits() != 0 {
                let (row, col) = self.turned((slot >> self.d_log2, slot & ((1 << self.d_log2) - 1)));
                visit(row, col);
            }
            slot += BLOCK as u32;
        }
    }
}
