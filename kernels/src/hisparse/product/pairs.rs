//! Finds the leaves of A and B that are multiplied.

use evenpath_simt::{device, kernel, thread, Arena, Global, GlobalMut};

use crate::block::search::partition_point;
use crate::hisparse::runs::path;
use crate::Key;

kernel! {
    /// Finds the leaves of B whose row is the column of each leaf of A: one thread per leaf of A.
    pub struct HiSparseCountPairs {
        /// Columns of A's leaves.
        pub a_columns: Global<u32>,
        /// Rows of B's leaves, ascending.
        pub b_rows: Global<u32>,
        /// Output: the first leaf of B for each leaf of A.
        pub firsts: GlobalMut<u32>,
        /// Output: their number.
        pub counts: GlobalMut<u64>,
        /// The number of leaves of A.
        pub a_len: u32,
        /// The number of leaves of B.
        pub b_len: u32,
    }
    shared: 0;
    body: HiSparseCountPairs::count_pairs::<BLOCK>;
    entry: hisparse_count_pairs in hisparse_product: 256 x 1;
}

impl HiSparseCountPairs {
    #[device]
    fn count_pairs<const BLOCK: usize>(self, _: Arena) {
        let leaf = thread::global_index::<BLOCK>() as u32;
        if leaf < self.a_len {
            let inner = self.a_columns.load(leaf as usize);
            let row = |leaf: u32| self.b_rows.load(leaf as usize);
            let first = partition_point(0, self.b_len, |leaf| row(leaf) < inner);
            let end = partition_point(first, self.b_len, |leaf| row(leaf) == inner);
            self.firsts.store(leaf as usize, first);
            self.counts.store(leaf as usize, u64::from(end - first));
        }
    }
}

kernel! {
    /// Lists the pairs of leaves that are multiplied, in the order of A's leaves: one thread per pair.
    pub struct HiSparseListPairs<K: Key> {
        /// The number of pairs of each leaf of A and all before it.
        pub ends: Global<u64>,
        /// The first leaf of B for each leaf of A.
        pub firsts: Global<u32>,
        /// References to A's leaves.
        pub a_references: Global<u32>,
        /// Rows of A's leaves.
        pub a_rows: Global<u32>,
        /// References to B's leaves.
        pub b_references: Global<u32>,
        /// Columns of B's leaves.
        pub b_columns: Global<u32>,
        /// Output: the path of each pair's leaf of C: the digits of row and column from the root down.
        pub keys: GlobalMut<K>,
        /// Output: references to both leaves, that of A in the lower half.
        pub pairs: GlobalMut<u64>,
        /// The number of leaves of A.
        pub a_len: u32,
        /// The number of pairs.
        pub len: u32,
        /// log2 of a node's rows.
        pub d_log2: u32,
        /// Levels of C's tree.
        pub depth: u32,
    }
    shared: 0;
    body: HiSparseListPairs::list_pairs::<BLOCK>;
    entry: hisparse_list_pairs_{K} in hisparse_product: K in [u32, u64], 256 x 1;
}

impl<K: Key> HiSparseListPairs<K> {
    #[device]
    fn list_pairs<const BLOCK: usize>(self, _: Arena) {
        let pair = thread::global_index::<BLOCK>() as u32;
        if pair < self.len {
            let is_before = |leaf: u32| self.ends.load(leaf as usize) <= u64::from(pair);
            let a = partition_point(0, self.a_len, is_before) as usize;
            let before = self.ends.load_if(a.saturating_sub(1), a > 0) as u32;
            let b = (self.firsts.load(a) + (pair - before)) as usize;
            self.keys.store(
                pair as usize,
                K::from_bits(path(self.a_rows.load(a), self.b_columns.load(b), self.d_log2, self.depth)),
            );
            self.pairs.store(
                pair as usize,
                u64::from(self.b_references.load(b)) << 32 | u64::from(self.a_references.load(a)),
            );
        }
    }
}
