//! Begins a conversion.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Global};

use super::skeleton::{BinnedEntries, Skeleton, SkeletonNode, DESCENTS, INNER_NODES, LEAVES, NO_PARENT};

kernel! {
    /// Copies the positions of entries, counts those that are not in order, and makes the root: one thread per entry.
    pub struct HiSparseStartBinning {
        /// Row indices, ascending.
        pub row_indices: Global<u32>,
        /// Column indices.
        pub column_indices: Global<u32>,
        /// The number of entries, not zero.
        pub len: u32,
        /// Output: the entries.
        pub entries: BinnedEntries,
        /// Output: the root.
        pub skeleton: Skeleton,
    }
    shared: 0;
    body: HiSparseStartBinning::start::<BLOCK>;
    entry: hisparse_start_binning in hisparse_binning: 256 x 1;
}

impl HiSparseStartBinning {
    #[device]
    fn start<const BLOCK: usize>(self, _: Arena) {
        let place = thread::global_index::<BLOCK>();
        let is_entry = place < self.len as usize;
        let mut descends = false;
        if is_entry {
            let (row, col) = (self.row_indices.load(place), self.column_indices.load(place));
            let before = place.saturating_sub(1);
            descends =
                place > 0 && self.row_indices.load(before) == row && self.column_indices.load(before) >= col;
            self.entries.positions.store(place, u64::from(row) << 32 | u64::from(col));
            self.entries.sources.store(place, place as u32);
        }
        let descents = warp::ballot(warp::FULL, descends).count_ones();
        if thread::lane() == 0 && descents > 0 {
            self.skeleton.results.fetch_add(DESCENTS, u64::from(descents), Ordering::Relaxed, Scope::Device);
        }
        if place == 0 {
            let height = self.skeleton.height;
            let root = SkeletonNode { begin: 0, end: self.len, parent: NO_PARENT, coordinates: 0 };
            self.skeleton.write(height, 0, root);
            self.skeleton.results.store(if height == 0 { LEAVES } else { INNER_NODES }, 1);
        }
    }
}
