use evenpath_simt::{kernel, thread, Arena, Element, Global, GlobalMut};

use super::bits::leaf_words;
use super::pattern::{pattern_shared_bytes, Pattern};
use super::{state, Factor};
use crate::block::count_scan::CountScan;
use crate::hisparse::node::Pool;

kernel! {
    /// Counts the entries of leaves that C may have: a block a leaf. Values are taken as integers of their size.
    pub struct HiSparseCountProducts<T: Element> {
        /// A's pool as words.
        pub a_words: Global<u32>,
        /// The same, as coordinates.
        pub a_coordinates: Global<u16>,
        /// The same, as values.
        pub a_slots: Global<T>,
        /// B's pool as words.
        pub b_words: Global<u32>,
        /// The same, as coordinates.
        pub b_coordinates: Global<u16>,
        /// The same, as values.
        pub b_slots: Global<T>,
        /// Pairs of references to leaves, that of A in the lower half.
        pub pairs: Global<u64>,
        /// The first pair of each leaf of C, and the number of all pairs.
        pub starts: Global<u32>,
        /// Output: entries of each leaf.
        pub counts: GlobalMut<u32>,
        /// Output: 1 for each that has entries, else 0.
        pub is_filled: GlobalMut<u32>,
        /// Bits of [`state`](super::state).
        pub state: u32,
        /// The logarithm of the rows of a node.
        pub d_log2: u32,
    }
    shared: CountScan::<u32, BLOCK>::BYTES;
    body: HiSparseCountProducts::count_products::<BLOCK>;
    entries: {
        hisparse_count_products_u32 in hisparse_product: <T = u32>, 128 x 1;
        hisparse_count_products_u64 in hisparse_product: <T = u64>, 128 x 1;
    }
}

impl<T: Element> HiSparseCountProducts<T> {
    #[inline(always)]
    fn count_products<const BLOCK: usize>(self, mut arena: Arena) {
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let pattern = Pattern::take(&mut Arena::dynamic(pattern_shared_bytes(self.d_log2)), self.d_log2);
        let factor = |words, coordinates, slots, transposed| Factor {
            pool: Pool { words, coordinates, slots },
            is_transposed: self.state & transposed != 0,
            d_log2: self.d_log2,
        };
        let a = factor(self.a_words, self.a_coordinates, self.a_slots, state::A_TRANSPOSED);
        let b = factor(self.b_words, self.b_coordinates, self.b_slots, state::B_TRANSPOSED);
        let leaf = thread::block() as usize;
        pattern.find::<T, BLOCK>(a, b, self.pairs, self.starts.load(leaf), self.starts.load(leaf + 1));
        let mut count = 0;
        let mut word = thread::index();
        while word < leaf_words(self.d_log2) {
            count += pattern.c.load(word).count_ones();
            word += BLOCK as u32;
        }
        let total = scan.exclusive(count).total;
        if thread::index() == 0 {
            self.counts.store(leaf, total);
            self.is_filled.store(leaf, u32::from(total > 0));
        }
    }
}
