//! Which leaves of A and B are multiplied.

use evenpath_simt::{kernel, thread, Arena, Element, Global, GlobalMut};

use crate::hisparse::runs::path;
use crate::Key;

/// The first of `len` ascending numbers for which `is_before` does not hold.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn partition_point<T: Element>(numbers: Global<T>, len: u32, is_before: impl Fn(T) -> bool) -> u32 {
    let (mut low, mut left) = (0, len);
    while left > 0 {
        let half = left >> 1;
        let is_less = is_before(numbers.load((low + half) as usize));
        low = if is_less { low + half + 1 } else { low };
        left = if is_less { left - half - 1 } else { half };
    }
    low
}

kernel! {
    /// Finds the leaves of B in the row of leaves that each leaf of A has the column of: one thread a leaf of A.
    pub struct HiSparseCountPairs {
        /// Columns of A's leaves.
        pub a_cols: Global<u32>,
        /// Rows of B's leaves, ascending.
        pub b_rows: Global<u32>,
        /// Output: the first leaf of B for each of A.
        pub firsts: GlobalMut<u32>,
        /// Output: how many there are.
        pub counts: GlobalMut<u64>,
        /// Leaves of A.
        pub a_len: u32,
        /// Leaves of B.
        pub b_len: u32,
    }
    shared: 0;
    body: HiSparseCountPairs::count_pairs::<BLOCK>;
    entries: {
        hisparse_count_pairs in hisparse_product: 256 x 1;
    }
}

impl HiSparseCountPairs {
    #[inline(always)]
    fn count_pairs<const BLOCK: usize>(self, _: Arena) {
        let leaf = thread::block() * BLOCK as u32 + thread::index();
        if leaf < self.a_len {
            let inner = self.a_cols.load(leaf as usize);
            let first = partition_point(self.b_rows, self.b_len, |row| row < inner);
            let count =
                partition_point(self.b_rows.skip(first as usize), self.b_len - first, |row| row == inner);
            self.firsts.store(leaf as usize, first);
            self.counts.store(leaf as usize, u64::from(count));
        }
    }
}

kernel! {
    /// Lists the pairs of leaves that are multiplied, in the order of A's leaves: one thread a pair.
    pub struct HiSparseListPairs<K: Key> {
        /// The pairs of each leaf of A and all before it.
        pub ends: Global<u64>,
        /// The first leaf of B for each leaf of A.
        pub firsts: Global<u32>,
        /// References to A's leaves.
        pub a_references: Global<u32>,
        /// Their rows.
        pub a_rows: Global<u32>,
        /// References to B's leaves.
        pub b_references: Global<u32>,
        /// Their columns.
        pub b_cols: Global<u32>,
        /// Output: of each pair the path of its leaf of C, the digits of row and column from the root down.
        pub keys: GlobalMut<K>,
        /// Output: references to both leaves, that of A in the lower half.
        pub pairs: GlobalMut<u64>,
        /// Leaves of A.
        pub a_len: u32,
        /// Pairs.
        pub len: u32,
        /// The logarithm of the rows of a node.
        pub d_log2: u32,
        /// Levels of C's tree.
        pub depth: u32,
    }
    shared: 0;
    body: HiSparseListPairs::list_pairs::<BLOCK>;
    entries: {
        hisparse_list_pairs_u32 in hisparse_product: <K = u32>, 256 x 1;
        hisparse_list_pairs_u64 in hisparse_product: <K = u64>, 256 x 1;
    }
}

impl<K: Key> HiSparseListPairs<K> {
    #[inline(always)]
    fn list_pairs<const BLOCK: usize>(self, _: Arena) {
        let pair = thread::block() * BLOCK as u32 + thread::index();
        if pair < self.len {
            let a = partition_point(self.ends, self.a_len, |end| end <= u64::from(pair)) as usize;
            let before = self.ends.load_if(a.saturating_sub(1), a > 0) as u32;
            let b = (self.firsts.load(a) + (pair - before)) as usize;
            self.keys.store(
                pair as usize,
                K::from_bits(path(self.a_rows.load(a), self.b_cols.load(b), self.d_log2, self.depth)),
            );
            self.pairs.store(
                pair as usize,
                u64::from(self.b_references.load(b)) << 32 | u64::from(self.a_references.load(a)),
            );
        }
    }
}
