use evenpath_simt::{device, kernel, thread, Arena, Shared, Word};

use super::large::Bitmaps;
use super::levels::{LevelTile, Placing, SumNodes};
use super::marks::{self, WarpBitmap};
use super::memory::count_shared_bytes;
use super::pairs::NodePairs;
use super::tiny;
use crate::block::count_scan::CountScan;

kernel! {
    /// Counts the entries of sums of leaves, and places them. Slots are read as integers of their size.
    pub struct HiSparseCountSums<T: Word> {
        /// The pairs of leaves.
        pub pairs: NodePairs<T>,
        /// Output: their counts and references.
        pub nodes: SumNodes,
    }
    shared: Placing::<BLOCK>::BYTES + CountScan::<u32, BLOCK>::BYTES + BLOCK / 32 * 4;
    body: HiSparseCountSums::count_sums::<BLOCK>;
    entry: hisparse_count_sums_{T} in hisparse_sum: (T, R) in [(u32, 0), (u64, 7)], 128 x 1 resident R;
}

impl<T: Word> HiSparseCountSums<T> {
    #[device]
    fn count_sums<const BLOCK: usize>(self, mut arena: Arena) {
        let NodePairs { levels, d_log2, .. } = self.pairs;
        let placing = Placing::<BLOCK>::take(&mut arena);
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let masks = arena.take(BLOCK / thread::WARP_SIZE as usize);
        let marking = Arena::dynamic(count_shared_bytes(d_log2, BLOCK as u32));
        let (marks, bitmaps) =
            (WarpBitmap::take(marking, d_log2, BLOCK as u32), Bitmaps::<BLOCK>::take(marking, scan, d_log2));
        let Some(tile) = placing.draw(levels, self.nodes.tiles) else { return };
        count_pairs(self.pairs, tile, masks, placing, marks, bitmaps);
        placing.place(levels, self.nodes, d_log2, T::SIZE as u32);
    }
}

/// Counts the entries of the sums of a tile's pairs; `masks` has a word per warp.
#[device(track_caller)]
pub(super) fn count_pairs<T: Word, const BLOCK: usize>(
    pairs: NodePairs<T>,
    tile: LevelTile,
    masks: Shared<u32>,
    placing: Placing<BLOCK>,
    marks: WarpBitmap,
    bitmaps: Bitmaps<BLOCK>,
) {
    let (a, b) = pairs.sides();
    pairs.for_each::<BLOCK>(
        tile,
        masks,
        |handle| marks::takes(handle, pairs.d_log2, BLOCK as u32),
        |number, pair| placing.set(tile, number, tiny::count(a, b, pair)),
        |number, pair| {
            let count = marks.count(a, b, pair);
            if thread::lane() == 0 {
                placing.set(tile, number, count);
            }
        },
        |number, pair| {
            let count = bitmaps.count(a, b, pair);
            if thread::index() == 0 {
                placing.set(tile, number, count);
            }
        },
    );
}
