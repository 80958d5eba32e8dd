//! A thread's share of a tile, once the kinds of its items are known.

use evenpath_simt::{device, thread, Shared};

use super::item_kinds::{self, ItemKinds};
use super::origin::SumOrigin;
use crate::block::count_scan::CountScan;

/// A thread's share of a tile.
pub(super) struct SpaddShare<const BLOCK: usize, const ITEMS: usize> {
    kinds: ItemKinds,
    /// Items of the tile before it.
    diagonal: u32,
    items: u32,
    /// A bit for each item that is the end of a row.
    row_ends: u32,
    /// A bit for each item at which there is a result.
    results: u32,
}

/// Counts of a tile, and before a thread's share.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResultCounts {
    /// Results of the tile.
    pub(super) results: u32,
    /// Results before the share.
    results_before: u32,
    /// Nonzeros of A before it.
    a_before: u32,
    /// Row ends before it.
    rows_before: u32,
}

impl<const BLOCK: usize, const ITEMS: usize> SpaddShare<BLOCK, ITEMS> {
    /// Returns the share with these kinds in a tile of `tile_items` items.
    #[device]
    pub(super) fn new(kinds: ItemKinds, tile_items: u32, keep: u32) -> Self {
        let diagonal = (thread::index() * ITEMS as u32).min(tile_items);
        let items = (tile_items - diagonal).min(ITEMS as u32);
        let (row_ends, results) = (kinds.row_ends(items), kinds.results(keep, items));
        Self { kinds, diagonal, items, row_ends, results }
    }

    /// Counts what is in the shares before this one. It has a barrier.
    #[device(track_caller)]
    pub(super) fn count(&self, scan: CountScan<u64, BLOCK>) -> ResultCounts {
        // A tile's counts are below 2¹⁵, so three fit in a word side by side.
        let pack =
            |results: u32, a: u32, rows: u32| u64::from(results) | u64::from(a) << 20 | u64::from(rows) << 40;
        let of_a = self.kinds.takes_a & item_kinds::first(self.items);
        let counted =
            scan.exclusive(pack(self.results.count_ones(), of_a.count_ones(), self.row_ends.count_ones()));
        ResultCounts {
            results: counted.total as u32 & 0xf_ffff,
            results_before: counted.before as u32 & 0xf_ffff,
            a_before: (counted.before >> 20) as u32 & 0xf_ffff,
            rows_before: (counted.before >> 40) as u32,
        }
    }

    /// Writes the origins of the tile's results to shared memory, and after them, for each row that ends in the tile,
    /// the number of results before its end. `is_paired` is true if the share's first item is paired with the one
    /// before it. A barrier must follow before the memory is read.
    #[device(track_caller)]
    pub(super) fn scatter(&self, counted: ResultCounts, ahead: u32, is_paired: bool, to: Shared<u32>) {
        let ItemKinds { takes_a, joins } = self.kinds;
        let takes_b = !takes_a & !joins & item_kinds::first(self.items);
        let ResultCounts { results, results_before: first, a_before: a, rows_before } = counted;
        let b = self.diagonal - a - rows_before;
        let is_paired = u32::from(is_paired);
        // Both nonzeros of a pair are passed at the second item, which is B's: until then, the origin is the pair.
        let pairs = (takes_a & joins) << 1 | is_paired;
        let passes_a = takes_a & !joins | pairs;
        let mut place = (a + ahead - is_paired) * SumOrigin::STEP_A + b * SumOrigin::STEP_B;
        let mut result = to.skip(first as usize);
        for item in 0..ITEMS {
            let (of_a, of_b) = (passes_a >> item & 1 == 1, takes_b >> item & 1 == 1);
            let from_a = if of_a { SumOrigin::FROM_A } else { 0 };
            let from_b = if of_b { SumOrigin::FROM_B } else { 0 };
            if self.results >> item & 1 == 1 {
                result.store(0, place | from_a | from_b);
                result = result.skip(1);
            }
            if of_a {
                place += SumOrigin::STEP_A;
            }
            if of_b {
                place += SumOrigin::STEP_B;
            }
        }
        let (mut ends, mut end) = (self.row_ends, results + rows_before);
        while ends != 0 {
            let is_before = item_kinds::first(ends.trailing_zeros());
            to.store(end as usize, first + (self.results & is_before).count_ones());
            ends &= ends - 1;
            end += 1;
        }
    }
}
