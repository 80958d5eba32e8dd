//! A block's part of a reduction by keys, flags or rows.
use evenpath_simt::{device, parameters, thread, Aligned16, Arena, Global, GlobalMut, Shared};

use crate::block::operator::{Number, Operator, Segmented, Summary};
use crate::block::tile_prefix::TilePrefix;
use crate::scan::{flipped, Marks, ScannedTile};

parameters! {
    /// Parameters of every reduction.
    pub struct ReduceArguments<V: Number> {
        /// The values.
        pub source: Global<V, Aligned16>,
        /// The look-back's state: [`state_words`](crate::block::tile_prefix::state_words) words, all zero.
        pub state: GlobalMut<u64>,
        /// Values, fewer than 2³².
        pub len: u64,
        /// Tiles.
        pub tiles: u32,
        /// Not zero if minima become maxima.
        pub flip: u32,
    }
}

/// Destination of the sums of segments, and of their heads and number if these are wanted.
pub(super) trait SegmentOutput<V> {
    /// Prepares the data that is stored for each head, before the look-back: `heads` are this thread's, the first of
    /// them the `slot`-th of the tile. Every thread calls it; it may have barriers.
    #[device]
    fn stage(&mut self, _heads: u32, _slot: u32) {}
    /// Stores the data prepared for the tile's `count` heads, the first of which begins segment `first`.
    #[device]
    fn store_heads(&self, _first: usize, _count: u32) {}
    /// Stores a segment's sum.
    fn store_sum(&self, segment: usize, sum: V);
    /// Stores the number of segments.
    #[device]
    fn store_count(&self, _segments: usize) {}
}

/// Reduces the segments of the tile that the block draws. A head closes the segment before its own: a thread writes the
/// sums of the segments that its heads close to the tile's memory, one after the other. Only the first sum of the tile
/// lacks its part before the tile. The last tile also closes the segment that is open after the last element.
#[device(track_caller)]
pub(super) fn reduce_tile<V: Number, P: Operator<V>, M: Marks, const BLOCK: usize, const ITEMS: usize>(
    arena: &mut Arena,
    marks: &mut M,
    output: &mut impl SegmentOutput<V>,
    arguments: ReduceArguments<V>,
) {
    let ReduceArguments { source, state, len, tiles, flip } = arguments;
    let flip = flip != 0;
    let fill = flipped::<V, P>(P::IDENTITY, flip);
    let prefix = TilePrefix::new(state, tiles);
    let tile = ScannedTile::<V, BLOCK, ITEMS>::draw(arena, prefix, source, len, fill);
    marks.fetch(tile.first, tile.len);
    marks.settle();
    thread::await_copies();
    thread::barrier();
    let heads = marks.heads(tile.first, tile.len);
    let around = tile.add_up::<Segmented<P>>(heads, flip);

    let sums = tile.elements.elements();
    close_segments::<V, P, BLOCK, ITEMS>(&tile, heads, around.before, flip);
    output.stage(heads, around.before.heads);
    let before = tile.look_back(around.total);

    let count = around.total.heads;
    let first = before.heads as usize;
    output.store_heads(first, count);
    let mut slot = thread::index();
    // The first element of all is a head that closes nothing.
    if tile.first == 0 && slot == 0 {
        slot += BLOCK as u32;
    }
    while slot < count {
        let own = sums.load(slot as usize);
        let sum = if slot == 0 { P::combine(before.value, own) } else { own };
        output.store_sum(first + slot as usize - 1, flipped::<V, P>(sum, flip));
        slot += BLOCK as u32;
    }
    if tile.index == tiles - 1 && thread::index() == 0 {
        let all = before.then(around.total);
        output.store_sum(all.heads as usize - 1, flipped::<V, P>(all.value, flip));
        output.store_count(all.heads as usize);
    }
}

/// Replaces the tile's elements by the sums of the segments that its heads close, one a head, in order.
#[device(track_caller)]
fn close_segments<V: Number, P: Operator<V>, const BLOCK: usize, const ITEMS: usize>(
    tile: &ScannedTile<V, BLOCK, ITEMS>,
    heads: u32,
    before: Summary<V, Segmented<P>>,
    flip: bool,
) {
    let items = tile.elements.own();
    // All have read what is overwritten now.
    thread::barrier();
    let sums: Shared<V> = tile.elements.elements();
    let mut running = before.value;
    let mut slot = before.heads as usize;
    for item in 0..ITEMS {
        let element = flipped::<V, P>(items[item], flip);
        if heads >> item & 1 != 0 {
            sums.store(slot, running);
            slot += 1;
            running = element;
        } else {
            running = P::combine(running, element);
        }
    }
}
