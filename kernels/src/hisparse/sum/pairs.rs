//! Distribution of pairs over threads, warps and blocks.

use evenpath_simt::{device, parameters, thread, warp, Global, Shared, Word};

use super::levels::{LevelTile, SumLevels};
use super::side::{NodeHandle, NodePair, SumTree};
use super::{state, tiny};
use crate::hisparse::node::Pool;

parameters! {
    /// The pairs of nodes on one level of two trees that are added.
    pub struct NodePairs<T: Word> {
        /// A's pool.
        pub a: Pool<T>,
        /// B's pool.
        pub b: Pool<T>,
        /// Pairs of references, that to a node of A in the lower half of a word; not read on the root's level.
        pub words: Global<u64>,
        /// The pair on the root's level; zero on others.
        pub root: u64,
        /// The levels of the sum, and which one this is.
        pub levels: SumLevels,
        /// Bits of [`state`](super::state).
        pub state: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
    }
}

impl<T: Word> NodePairs<T> {
    /// Both trees.
    #[device]
    pub(super) fn sides(self) -> (SumTree<T>, SumTree<T>) {
        let Self { a, b, state, d_log2, .. } = self;
        let is_transposed = state & state::B_TRANSPOSED != 0;
        (SumTree { pool: a, is_transposed: false, d_log2 }, SumTree { pool: b, is_transposed, d_log2 })
    }

    #[device(track_caller)]
    fn load(self, number: u32, is_pair: bool) -> NodePair {
        let word = if self.root == 0 { self.words.load_if(number as usize, is_pair) } else { self.root };
        let word = if is_pair { word } else { 0 };
        let (a, b) = self.sides();
        NodePair { a: a.handle(word as u32), b: b.handle((word >> 32) as u32) }
    }

    /// Calls `tiny` in a thread, `small` in a warp, and then `large` in the block for each pair of the block's tile
    /// that is of that size, with its number. `is_small` selects the nodes for a warp; `masks` has a word per warp.
    #[device(track_caller)]
    pub(super) fn for_each<const BLOCK: usize>(
        self,
        tile: LevelTile,
        masks: Shared<u32>,
        is_small: impl Fn(NodeHandle) -> bool,
        tiny: impl Fn(u32, NodePair),
        small: impl Fn(u32, NodePair),
        large: impl Fn(u32, NodePair),
    ) {
        let warps = BLOCK as u32 / thread::WARP_SIZE;
        let of_warp = tile.of_warp;
        let first = tile.first + thread::warp() * of_warp;
        let number = first + thread::lane();
        let is_pair = thread::lane() < of_warp && number < tile.end;
        let own = self.load(number, is_pair);
        let is_tiny = is_pair && tiny::takes(own.a) && tiny::takes(own.b);
        let is_small = is_small(own.a) && is_small(own.b);
        let mut small_ones = warp::ballot(warp::FULL, is_pair && !is_tiny && is_small);
        let large_ones = warp::ballot(warp::FULL, is_pair && !is_tiny && !is_small);
        if is_tiny {
            tiny(number, own);
        }
        while small_ones != 0 {
            let lane = small_ones.trailing_zeros();
            let handle = |handle: NodeHandle| NodeHandle {
                reference: warp::shuffle(warp::FULL, handle.reference, lane),
                len: warp::shuffle(warp::FULL, handle.len, lane),
                head: [0; 2],
            };
            small(first + lane, NodePair { a: handle(own.a), b: handle(own.b) });
            small_ones &= small_ones - 1;
        }
        if thread::lane() == 0 {
            masks.store(thread::warp() as usize, large_ones);
        }
        thread::barrier();
        let mut warp = 0;
        // If the compiler knew the number of warps, it would repeat all of `large` for each.
        while warp < thread::opaque(warps) {
            let mut left = masks.load(warp as usize);
            while left != 0 {
                let number = tile.first + warp * of_warp + left.trailing_zeros();
                large(number, self.load(number, true));
                left &= left - 1;
            }
            warp += 1;
        }
    }
}
