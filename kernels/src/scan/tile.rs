//! A block's tile, which waits in shared memory for the sum before it.
use evenpath_simt::{device, thread, Aligned16, Arena, Global, Shared};

use crate::block::operator::{Number, Operator, Summary};
use crate::block::staged::StagedTile;
use crate::block::tile_prefix::TilePrefix;
use crate::block::tile_scan::{scan_bytes, Surroundings, TileScan, NOWHERE};

/// Bytes of launch-sized shared memory of a tile; `mark_bytes` is 0 if marks are not in shared memory. No kernel needs more than
/// 64 KiB, which every GPU has.
pub const fn shared_bytes(value_bytes: usize, mark_bytes: usize, block: usize, items: usize) -> u32 {
    (block * items * (value_bytes + mark_bytes) + scan_bytes(value_bytes, block) + 4) as u32
}

/// The tile that a block has drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScannedTile<V, const BLOCK: usize, const ITEMS: usize> {
    /// Its elements: as loaded, then what replaces them.
    pub(crate) elements: StagedTile<V, BLOCK, ITEMS>,
    pub(crate) scan: TileScan<V, BLOCK>,
    prefix: TilePrefix,
    /// Its number.
    pub(crate) index: u32,
    /// Its elements.
    pub(crate) len: u32,
    /// Its first element.
    pub(crate) first: usize,
}

impl<V: Number, const BLOCK: usize, const ITEMS: usize> ScannedTile<V, BLOCK, ITEMS> {
    /// Draws a tile of the `len` elements and starts to load it; the rest of a partial tile is `fill`. The arena is aligned
    /// to 16 bytes. One barrier.
    #[device(track_caller)]
    pub(crate) fn draw(
        arena: &mut Arena,
        prefix: TilePrefix,
        source: Global<V, Aligned16>,
        len: u64,
        fill: V,
    ) -> Self {
        let elements = StagedTile::take(arena);
        let scan = TileScan::take(arena);
        let drawn: Shared<u32> = arena.take(1);
        let index = prefix.draw(drawn);
        let first = index as usize * (BLOCK * ITEMS);
        let left = len as usize - first;
        let len = if left < BLOCK * ITEMS { left as u32 } else { (BLOCK * ITEMS) as u32 };
        elements.fetch(source.skip_aligned(first), len, fill);
        Self { elements, scan, prefix, index, len, first }
    }

    /// Adds the tile up, once its elements are there, and publishes the sum to the other tiles. `heads` has a bit for each of this
    /// thread's elements that begins a segment. One barrier.
    #[device(track_caller)]
    pub(crate) fn add_up<P: Operator<V>>(&self, heads: u32, flip: bool) -> Surroundings<V, P> {
        let items = self.elements.own();
        let mut own: Summary<V, P> = Summary::IDENTITY;
        for item in 0..ITEMS {
            own = own.then(Summary::new(flipped::<V, P>(items[item], flip), head::<V, P>(heads, item)));
        }
        let first_head =
            if heads == 0 { NOWHERE } else { thread::index() * ITEMS as u32 + heads.trailing_zeros() };
        let around = self.scan.scan_threads(own, first_head);
        if thread::index() == 0 {
            self.prefix.publish_own(self.index, around.total);
        }
        around
    }

    /// Returns the sum before the tile. One barrier, after which all threads can read what was written to shared memory
    /// before it.
    #[device(track_caller)]
    pub(crate) fn look_back<P: Operator<V>>(&self, total: Summary<V, P>) -> Summary<V, P> {
        self.scan.look_back(self.prefix, self.index, total)
    }
}

/// 1 for an item that begins a segment, 0 for others. Where there are no segments, there may be more items than bits.
#[device]
pub(crate) fn head<V: Number, P: Operator<V>>(heads: u32, item: usize) -> u32 {
    if P::SEGMENTED {
        heads >> item & 1
    } else {
        0
    }
}

/// Returns the element, or its flip if `flip` and the operator has maxima as flipped minima.
#[device]
pub(crate) fn flipped<V: Number, P: Operator<V>>(element: V, flip: bool) -> V {
    if P::FLIPS && flip {
        element.flip()
    } else {
        element
    }
}
