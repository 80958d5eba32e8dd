use evenpath_simt::{kernel, thread, Arena, Element, Global, GlobalMut};

use super::large::Bitmaps;
use super::marks::{self, Marks};
use super::pairs::Pairs;
use super::{count_shared_bytes, state, tiny, Side};
use crate::block::count_scan::CountScan;
use crate::hisparse::node::Pool;

kernel! {
    /// Counts the entries of sums of nodes: `share` pairs a block. Slots are taken as integers of their size.
    pub struct HiSparseCountSums<T: Element> {
        /// A's pool as words.
        pub a_words: Global<u32>,
        /// The same, as coordinates.
        pub a_coordinates: Global<u16>,
        /// The same, as slots.
        pub a_slots: Global<T>,
        /// B's pool as words.
        pub b_words: Global<u32>,
        /// The same, as coordinates.
        pub b_coordinates: Global<u16>,
        /// The same, as slots.
        pub b_slots: Global<T>,
        /// Pairs of references, that to a node of A in the lower half.
        pub pairs: Global<u64>,
        /// The pair where there are no others, of the roots; else zero.
        pub root: u64,
        /// Output: entries of each pair's sum.
        pub counts: GlobalMut<u32>,
        /// Pairs.
        pub len: u32,
        /// Pairs of a block, at most one a thread.
        pub share: u32,
        /// Bits of [`state`](super::state).
        pub state: u32,
        /// The logarithm of the rows of a node.
        pub d_log2: u32,
    }
    shared: CountScan::<u32, BLOCK>::BYTES + BLOCK / 32 * 4;
    body: HiSparseCountSums::count_sums::<BLOCK>;
    entries: {
        hisparse_count_sums_u32 in hisparse_sum: <T = u32>, 128 x 1;
        hisparse_count_sums_u64 in hisparse_sum: <T = u64>, 128 x 1;
        hisparse_count_inner_sums in hisparse_sum: <T = u32>, 512 x 1 resident 2;
    }
}

impl<T: Element> HiSparseCountSums<T> {
    #[inline(always)]
    fn count_sums<const BLOCK: usize>(self, mut arena: Arena) {
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let masks = arena.take(BLOCK / thread::WARP_SIZE as usize);
        let marking = Arena::dynamic(count_shared_bytes(self.d_log2, BLOCK as u32));
        let (marks, bitmaps) = (
            Marks::take(marking, self.d_log2, BLOCK as u32),
            Bitmaps::<BLOCK>::take(marking, scan, self.d_log2),
        );
        let side = |words, coordinates, slots, is_transposed| Side {
            pool: Pool { words, coordinates, slots },
            is_transposed,
            d_log2: self.d_log2,
        };
        let a = side(self.a_words, self.a_coordinates, self.a_slots, false);
        let b = side(self.b_words, self.b_coordinates, self.b_slots, self.state & state::B_TRANSPOSED != 0);
        Pairs { a, b, words: self.pairs, root: self.root, len: self.len, share: self.share }
            .for_each::<BLOCK>(
                masks,
                |part| marks::takes(part, self.d_log2, BLOCK as u32),
                |number, pair| self.counts.store(number as usize, tiny::count(a, b, pair)),
                |number, pair| {
                    let count = marks.count(a, b, pair);
                    if thread::lane() == 0 {
                        self.counts.store(number as usize, count);
                    }
                },
                |number, pair| {
                    let count = bitmaps.count(a, b, pair);
                    if thread::index() == 0 {
                        self.counts.store(number as usize, count);
                    }
                },
            );
    }
}
