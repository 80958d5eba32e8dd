//! The pairs of leaves of a product, and the trees that they are of.

use evenpath_simt::{device, parameters, thread, Global, Word};

use super::state;
use crate::hisparse::layout;
use crate::hisparse::node::{Node, Pool};

parameters! {
    /// The pairs of leaves of two trees that are multiplied.
    pub struct LeafPairs<T: Word> {
        /// A's pool.
        pub a: Pool<T>,
        /// B's pool.
        pub b: Pool<T>,
        /// Pairs of references to leaves, that of A in the lower half of a word.
        pub words: Global<u64>,
        /// The first pair of each leaf that C may have, and the number of all pairs.
        pub starts: Global<u32>,
        /// Bits of [`state`](super::state).
        pub state: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
    }
}

impl<T: Word> LeafPairs<T> {
    /// Both trees.
    #[device]
    pub(super) fn factors(self) -> (FactorTree<T>, FactorTree<T>) {
        let Self { a, b, state, d_log2, .. } = self;
        let factor = |pool, transposed| FactorTree { pool, is_transposed: state & transposed != 0, d_log2 };
        (factor(a, state::A_TRANSPOSED), factor(b, state::B_TRANSPOSED))
    }
}

/// One of the trees that are multiplied.
#[derive(Clone, Copy)]
pub(super) struct FactorTree<T: Word> {
    pool: Pool<T>,
    pub(super) is_transposed: bool,
    pub(super) d_log2: u32,
}

impl<T: Word> FactorTree<T> {
    #[device(track_caller)]
    pub(super) fn node(self, reference: u32) -> Node<T> {
        self.pool.node(reference, self.d_log2)
    }

    /// Converts row and column between the factor and its content, in either direction.
    #[device]
    pub(super) fn turned(self, (row, col): (u32, u32)) -> (u32, u32) {
        if self.is_transposed {
            (col, row)
        } else {
            (row, col)
        }
    }

    /// Calls `visit` with the row and column in the factor of each entry of a leaf, over the block's threads.
    #[device(track_caller)]
    pub(super) fn for_each_entry<const BLOCK: usize>(self, reference: u32, visit: impl Fn(u32, u32)) {
        let node = self.node(reference);
        let is_dense = layout::kind(reference) == layout::DENSE;
        thread::block_stride::<BLOCK>(node.len, |slot| {
            if !is_dense {
                let (row, col) = self.turned(layout::unpack(u32::from(node.coordinates.load(slot as usize))));
                visit(row, col);
            } else if node.slots.load(slot as usize).to_bits() != 0 {
                let (row, col) = self.turned((slot >> self.d_log2, slot & ((1 << self.d_log2) - 1)));
                visit(row, col);
            }
        });
    }
}
