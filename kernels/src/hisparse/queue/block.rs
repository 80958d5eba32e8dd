//! The entries of a block of a tree, by the queue scheduler.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, parameters, Arena, GlobalMut};

use super::{traverse, traverse_shared_bytes, EntryOperation, LoadedEntries, Queues, Region, Tree};
use crate::spmv::AtomicFloat;

parameters! {
    /// Consecutive rows and columns of a matrix: the stored one, or its transpose.
    pub struct BlockRange {
        /// The first row.
        pub first_row: u32,
        /// Rows, not zero.
        pub rows: u32,
        /// The first column.
        pub first_col: u32,
        /// Columns, not zero.
        pub cols: u32,
        /// 1 if the matrix is the transpose of the stored one, else 0.
        pub is_transposed: u32,
    }
}

impl BlockRange {
    /// Returns whether a node of the stored matrix has rows and columns of the block.
    #[device]
    fn meets(self, region: Region) -> bool {
        let (row, col) =
            if self.is_transposed == 0 { (region.row, region.col) } else { (region.col, region.row) };
        let side = 1_u64 << region.side_log2;
        let meets = |begin: u64, first: u32, len: u32| {
            begin < u64::from(first) + u64::from(len) && u64::from(first) < begin + side
        };
        meets(row, self.first_row, self.rows) && meets(col, self.first_col, self.cols)
    }

    /// Calls `visit` for those entries of a leaf that are in the block, with row and column in the block and the number
    /// in `entries`.
    #[device(track_caller)]
    fn for_each<V: AtomicFloat, const N: usize>(
        self,
        (leaf_row, leaf_col): (u32, u32),
        entries: &LoadedEntries<V, N>,
        mut visit: impl FnMut(u32, u32, usize),
    ) {
        for k in 0..N {
            let (row, col) =
                (leaf_row + (entries.coordinates[k] >> 8), leaf_col + (entries.coordinates[k] & 0xff));
            let (row, col) = if self.is_transposed == 0 { (row, col) } else { (col, row) };
            // Before the block, the differences wrap around to large numbers.
            let (row, col) = (row.wrapping_sub(self.first_row), col.wrapping_sub(self.first_col));
            if entries.present[k] && row < self.rows && col < self.cols {
                visit(row, col, k);
            }
        }
    }
}

kernel! {
    /// Counts the entries of each row of a block, and visits only the nodes that have a part of it.
    pub struct HiSparseBlockCounts<V: AtomicFloat> {
        /// The tree.
        pub tree: Tree<V>,
        /// The queues.
        pub queues: Queues,
        /// The block.
        pub range: BlockRange,
        /// Output: a count for each row of the block, zero before.
        pub counts: GlobalMut<u32>,
    }
    shared: traverse_shared_bytes(BLOCK);
    body: HiSparseBlockCounts::count;
    entry: hisparse_block_counts_{V} in hisparse_queue_{V}: (V, R) in [(f32, 8), (f64, 6)], 128 x 1 resident R;
}

/// Counts entries.
#[derive(Clone, Copy)]
struct Counts {
    range: BlockRange,
    counts: GlobalMut<u32>,
}

impl<V: AtomicFloat> EntryOperation<V> for Counts {
    #[device]
    fn enters(&self, region: Region) -> bool {
        self.range.meets(region)
    }

    #[device(track_caller)]
    fn entries<const N: usize>(&mut self, row: u32, col: u32, entries: LoadedEntries<V, N>) {
        self.range.for_each((row, col), &entries, |row, _, _| {
            self.counts.fetch_add(row as usize, 1, Ordering::Relaxed, Scope::Device);
        });
    }
}

impl<V: AtomicFloat> HiSparseBlockCounts<V> {
    #[device]
    fn count(self, arena: Arena) {
        traverse(arena, self.tree, self.queues, Counts { range: self.range, counts: self.counts });
    }
}

kernel! {
    /// Lists the entries of a block by rows, those of a row in no particular order.
    pub struct HiSparseBlockEntries<V: AtomicFloat> {
        /// The tree.
        pub tree: Tree<V>,
        /// The queues.
        pub queues: Queues,
        /// The output.
        pub entries: BlockEntries<V>,
    }
    shared: traverse_shared_bytes(BLOCK);
    body: HiSparseBlockEntries::list;
    entry: hisparse_block_entries_{V} in hisparse_queue_{V}: (V, R) in [(f32, 7), (f64, 6)], 128 x 1 resident R;
}

parameters! {
    /// The entries of a block of a scaled tree.
    pub struct BlockEntries<V: AtomicFloat> {
        /// The block.
        pub range: BlockRange,
        /// Start of the entries of each row of the block; afterwards their end.
        pub places: GlobalMut<u32>,
        /// Output: the entries' columns in the block.
        pub column_indices: GlobalMut<u32>,
        /// Output: the entries' values.
        pub values: GlobalMut<V>,
        /// Factor of the tree's values.
        pub scale: V,
        /// 1 if values are to be multiplied by the factor, else 0.
        pub is_scaled: u32,
    }
}

impl<V: AtomicFloat> EntryOperation<V> for BlockEntries<V> {
    #[device]
    fn enters(&self, region: Region) -> bool {
        self.range.meets(region)
    }

    #[device(track_caller)]
    fn entries<const N: usize>(&mut self, row: u32, col: u32, entries: LoadedEntries<V, N>) {
        self.range.for_each((row, col), &entries, |row, col, k| {
            let place = self.places.fetch_add(row as usize, 1, Ordering::Relaxed, Scope::Device) as usize;
            let value = entries.values[k];
            self.column_indices.store(place, col);
            self.values.store(place, if self.is_scaled == 0 { value } else { self.scale * value });
        });
    }
}

impl<V: AtomicFloat> HiSparseBlockEntries<V> {
    #[device]
    fn list(self, arena: Arena) {
        traverse(arena, self.tree, self.queues, self.entries);
    }
}
