//! The conversion as a thread sees it.

use evenpath_simt::{device, Arena, GlobalMut, Shared};

use super::skeleton::{BinnedEntries, Skeleton, SkeletonNode};
use crate::block::count_scan::CountScan;
use crate::block::radix_rank::RadixRank;
use crate::block::radix_sort::RadixSort;
use crate::hisparse::layout;

/// Threads of a block.
pub(super) const BLOCK: usize = 128;
/// Entries of a tile that each thread has.
pub(super) const ITEMS: usize = 8;
/// The largest number of entries that a block bins at once.
pub const TILE: u32 = (BLOCK * ITEMS) as u32;

/// The sort of a tile by bins.
pub(super) type TileSort = RadixSort<u32, BLOCK, ITEMS>;

/// Shared memory of a block.
#[derive(Clone, Copy)]
pub(super) struct BinningMemory {
    pub(super) sort: TileSort,
    /// The same memory, for a single digit.
    pub(super) rank: RadixRank<BLOCK>,
    /// The first entry of each child in a tile, or a number per digit.
    pub(super) places: Shared<u32>,
    pub(super) scan: CountScan<u32, BLOCK>,
    /// Results of one thread for the others: if a piece was the last, and the number of the first child.
    pub(super) told: Shared<u32>,
}

impl BinningMemory {
    /// Bytes of shared memory.
    pub(super) const BYTES: usize =
        TileSort::BYTES + 4 * (TILE as usize + 1) + CountScan::<u32, BLOCK>::BYTES + 8;

    /// Takes the memory from an arena that begins at a multiple of 16 bytes.
    #[device]
    pub(super) fn take(arena: &mut Arena) -> Self {
        let mut same = *arena;
        Self {
            sort: TileSort::take(arena),
            rank: RadixRank::take(&mut same),
            places: arena.take(TILE as usize + 1),
            scan: CountScan::take(arena),
            told: arena.take(2),
        }
    }
}

/// State of a thread.
#[derive(Clone, Copy)]
pub(super) struct Binner {
    pub(super) entries: BinnedEntries,
    pub(super) skeleton: Skeleton,
    /// Counts of the pieces of large nodes.
    pub(super) counts: GlobalMut<u32>,
    /// Bytes of a value.
    pub(super) value_bytes: u32,
    pub(super) memory: BinningMemory,
    /// Units of the nodes that this thread has counted.
    pub(super) units: u64,
}

impl Binner {
    /// Counts the units of a node with `count` children or entries.
    #[device]
    pub(super) fn add_units(&mut self, height: u32, count: u32) {
        let (d_log2, size) = (self.entries.d_log2, if height == 0 { self.value_bytes } else { 4 });
        self.units += u64::from(layout::units(layout::kind_of(count, d_log2, size), count, d_log2, size));
    }

    /// Writes a child of a node of `height` whose extent is known. The units of a leaf are counted here, those of an inner node
    /// when it is binned.
    #[device(track_caller)]
    pub(super) fn write_child(&mut self, height: u32, child: u32, bin: u32, written: SkeletonNode) {
        let coordinates = self.entries.coordinates(bin);
        self.skeleton.write(height - 1, child, SkeletonNode { coordinates, ..written });
        if height == 1 {
            self.add_units(0, written.end - written.begin);
        }
    }
}
