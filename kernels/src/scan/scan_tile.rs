//! A block's part of a scan, with any marks.

use evenpath_simt::{device, parameters, thread, Aligned16, Arena, Global, GlobalMut};

use super::marks::Marks;
use super::tile::{flipped, head, shared_bytes, ScannedTile};
use crate::block::operator::{Number, Operator, Summary};
use crate::block::tile_prefix::TilePrefix;

parameters! {
    /// Parameters of every scan.
    pub struct ScanArguments<V: Number> {
        /// The elements.
        pub source: Global<V, Aligned16>,
        /// Output: one per element.
        pub target: GlobalMut<V, Aligned16>,
        /// The look-back's state: [`state_words`](crate::block::tile_prefix::state_words) words, all zero.
        pub state: GlobalMut<u64>,
        /// Elements.
        pub len: u64,
        /// Tiles.
        pub tiles: u32,
        /// Not zero if minima become maxima.
        pub flip: u32,
        /// Not zero if an element's own value is left out of its sum.
        pub exclusive: u32,
    }
}

/// Scans the tile that the block draws. Each thread reads its `ITEMS` consecutive elements twice: to add them up, and,
/// once it knows the sum before them in the tile, to replace them with results. Only the sum before the tile is then
/// missing; it is combined with the results as they are written to global memory.
#[device(track_caller)]
pub(super) fn scan_tile<V: Number, P: Operator<V>, M: Marks, const BLOCK: usize, const ITEMS: usize>(
    mut marks: M,
    arguments: ScanArguments<V>,
) {
    let ScanArguments { source, target, state, len, tiles, flip, exclusive } = arguments;
    let mut arena = Arena::dynamic(shared_bytes(V::SIZE, 0, BLOCK, ITEMS));
    let (flip, exclusive) = (flip != 0, exclusive != 0);
    let fill = flipped::<V, P>(P::IDENTITY, flip);
    let tile =
        ScannedTile::<V, BLOCK, ITEMS>::draw(&mut arena, TilePrefix::new(state, tiles), source, len, fill);
    marks.fetch(tile.first, tile.len);
    marks.settle();
    thread::await_copies();
    thread::barrier();
    let heads = marks.heads(tile.first, tile.len);
    let around = tile.add_up::<P>(heads, flip);

    let mut items = tile.elements.own();
    let mut running = around.before;
    for item in 0..ITEMS {
        let head = head::<V, P>(heads, item);
        let with = running.then(Summary::new(flipped::<V, P>(items[item], flip), head));
        let before = if P::SEGMENTED && head != 0 { P::IDENTITY } else { running.value };
        items[item] = if exclusive { before } else { with.value };
        running = with;
    }
    tile.elements.replace(items);
    let before = tile.look_back(around.total);
    // Compared with a full tile's again: the first comparison's result would take a register all along.
    let len = if P::SEGMENTED { thread::opaque(tile.len) } else { tile.len };
    tile.elements.store(target.skip_aligned(tile.first), len, |place, element| {
        let is_open = !P::SEGMENTED || place < around.first_head;
        flipped::<V, P>(if is_open { P::combine(before.value, element) } else { element }, flip)
    });
}
