//! The leaves that C may have, from sorted pairs; and those that it has, because the leaves of a pair have matching entries.

use evenpath_simt::{device, kernel, thread, Arena, Global, GlobalMut};

use crate::hisparse::runs::Run;
use crate::Key;

kernel! {
    /// Marks the first pair of each leaf of C: one thread per pair.
    pub struct HiSparseMarkCandidates<K: Key> {
        /// Paths of the pairs' leaves of C, ascending.
        pub keys: Global<K>,
        /// Output: 1 for each pair whose path differs from that of the pair before, else 0.
        pub is_first: GlobalMut<u32>,
        /// The number of pairs.
        pub len: u32,
    }
    shared: 0;
    body: HiSparseMarkCandidates::mark_candidates::<BLOCK>;
    entry: hisparse_mark_candidates_{K} in hisparse_product: K in [u32, u64], 256 x 1;
}

impl<K: Key> HiSparseMarkCandidates<K> {
    #[device]
    fn mark_candidates<const BLOCK: usize>(self, _: Arena) {
        let pair = thread::global_index::<BLOCK>();
        if pair < self.len as usize {
            let differs = pair == 0 || self.keys.load(pair) != self.keys.load(pair - 1);
            self.is_first.store(pair, u32::from(differs));
        }
    }
}

kernel! {
    /// Lists the leaves that C may have: one thread per pair.
    pub struct HiSparseListCandidates<K: Key> {
        /// Paths of the pairs' leaves of C, ascending.
        pub keys: Global<K>,
        /// The number of leaves that begin up to and including each pair.
        pub numbers: Global<u32>,
        /// Output: the leaves' paths.
        pub leaf_keys: GlobalMut<K>,
        /// Output: the first pair of each leaf, and the number of all pairs.
        pub starts: GlobalMut<u32>,
        /// The number of pairs.
        pub len: u32,
    }
    shared: 0;
    body: HiSparseListCandidates::list_candidates::<BLOCK>;
    entry: hisparse_list_candidates_{K} in hisparse_product: K in [u32, u64], 256 x 1;
}

impl<K: Key> HiSparseListCandidates<K> {
    #[device]
    fn list_candidates<const BLOCK: usize>(self, _: Arena) {
        let pair = thread::global_index::<BLOCK>();
        if pair < self.len as usize {
            let number = self.numbers.load(pair) as usize;
            if self.numbers.load_if(pair.saturating_sub(1), pair > 0) as usize != number {
                self.leaf_keys.store(number - 1, self.keys.load(pair));
                self.starts.store(number - 1, pair as u32);
            }
            if pair + 1 == self.len as usize {
                self.starts.store(number, self.len);
            }
        }
    }
}

kernel! {
    /// Lists the leaves that C has: one thread per leaf that it may have.
    pub struct HiSparseListFilled<K: Key> {
        /// Paths of the leaves that it may have, ascending.
        pub keys: Global<K>,
        /// The number of entries of each.
        pub counts: Global<u32>,
        /// The number of leaves with entries, up to and including each.
        pub numbers: Global<u32>,
        /// Output: paths of the leaves that have entries.
        pub leaf_keys: GlobalMut<K>,
        /// Output: for each of these, as a run, its number among those that C may have, and the number of its entries.
        pub leaves: GlobalMut<u64>,
        /// The number of leaves that C may have.
        pub len: u32,
    }
    shared: 0;
    body: HiSparseListFilled::list_filled::<BLOCK>;
    entry: hisparse_list_filled_{K} in hisparse_product: K in [u32, u64], 256 x 1;
}

impl<K: Key> HiSparseListFilled<K> {
    #[device]
    fn list_filled<const BLOCK: usize>(self, _: Arena) {
        let candidate = thread::global_index::<BLOCK>() as u32;
        if candidate < self.len {
            let count = self.counts.load(candidate as usize);
            if count > 0 {
                let number = self.numbers.load(candidate as usize) as usize - 1;
                self.leaf_keys.store(number, self.keys.load(candidate as usize));
                self.leaves.store(number, Run { first: candidate, row: 0, len: count }.word());
            }
        }
    }
}
