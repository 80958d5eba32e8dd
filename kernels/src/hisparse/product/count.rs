use evenpath_simt::{device, kernel, thread, Arena, GlobalMut, Word};

use super::bits::leaf_words;
use super::leaf_pairs::LeafPairs;
use super::pattern::{pattern_shared_bytes, LeafPattern};
use crate::block::count_scan::CountScan;

kernel! {
    /// Counts the entries of leaves that C may have: one block per leaf. Values are read as integers of their size.
    pub struct HiSparseCountProducts<T: Word> {
        /// The pairs.
        pub pairs: LeafPairs<T>,
        /// Output: the number of entries of each leaf.
        pub counts: GlobalMut<u32>,
        /// Output: 1 for each leaf that has entries, else 0.
        pub is_filled: GlobalMut<u32>,
    }
    shared: CountScan::<u32, BLOCK>::BYTES;
    body: HiSparseCountProducts::count_products::<BLOCK>;
    entry: hisparse_count_products_{T} in hisparse_product: T in [u32, u64], 128 x 1;
}

impl<T: Word> HiSparseCountProducts<T> {
    #[device]
    fn count_products<const BLOCK: usize>(self, mut arena: Arena) {
        let LeafPairs { starts, d_log2, .. } = self.pairs;
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let pattern = LeafPattern::take(&mut Arena::dynamic(pattern_shared_bytes(d_log2)), d_log2);
        let leaf = thread::block() as usize;
        pattern.find::<T, BLOCK>(self.pairs, starts.load(leaf), starts.load(leaf + 1));
        let mut count = 0;
        thread::block_stride::<BLOCK>(leaf_words(d_log2), |word| {
            count += pattern.c.load(word).count_ones();
        });
        let total = scan.exclusive(count).total;
        if thread::index() == 0 {
            self.counts.store(leaf, total);
            self.is_filled.store(leaf, u32::from(total > 0));
        }
    }
}
