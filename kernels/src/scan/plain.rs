//! Plain scan, in one pass over the data.

use evenpath_simt::{kernel, Arena, Global, GlobalMut, Shared};

use crate::block::operator::{Max, Min, Number, Operator, OperatorCode, Sum};
use crate::block::tile_prefix::TilePrefix;
use crate::block::tile_scan::TileScan;

kernel! {
    /// Scans in one pass over the data: one block a tile, tiles in the order in which blocks begin.
    pub struct Scan<V: Number> {
        /// The elements.
        pub source: Global<V>,
        /// Output: as many.
        pub target: GlobalMut<V>,
        /// The look-back's state: [`state_words`](crate::block::tile_prefix::state_words) words, all zero.
        pub state: GlobalMut<u64>,
        /// Elements.
        pub len: u64,
        /// Tiles.
        pub tiles: u32,
        /// An [`OperatorCode`].
        pub operator: u32,
        /// Whether an element's own value is left out of its sum.
        pub exclusive: u32,
    }
    shared: 4 + 4 + TileScan::<V, BLOCK, ITEMS>::BYTES;
    body: scan::<V, BLOCK, ITEMS>;
    entries: {
        scan_u32 in scan_u32: <V = u32>, 256 x 32;
        scan_i32 in scan_i32: <V = i32>, 256 x 32;
        scan_u64 in scan_u64: <V = u64>, 128 x 16;
        scan_f32 in scan_f32: <V = f32>, 256 x 32;
        scan_f64 in scan_f64: <V = f64>, 128 x 16;
    }
}

fn scan<V: Number, const BLOCK: usize, const ITEMS: usize>(
    arena: Arena,
    source: Global<V>,
    target: GlobalMut<V>,
    state: GlobalMut<u64>,
    len: u64,
    tiles: u32,
    operator: u32,
    exclusive: u32,
) {
    let prefix = TilePrefix::new(state, tiles);
    // The operator is the same for all: three kernels in one.
    if operator == OperatorCode::Sum as u32 {
        scan_by::<V, Sum, BLOCK, ITEMS>(arena, source, target, prefix, len, exclusive != 0);
    } else if operator == OperatorCode::Min as u32 {
        scan_by::<V, Min, BLOCK, ITEMS>(arena, source, target, prefix, len, exclusive != 0);
    } else {
        scan_by::<V, Max, BLOCK, ITEMS>(arena, source, target, prefix, len, exclusive != 0);
    }
}

#[inline(always)]
fn scan_by<V: Number, P: Operator<V>, const BLOCK: usize, const ITEMS: usize>(
    mut arena: Arena,
    source: Global<V>,
    target: GlobalMut<V>,
    prefix: TilePrefix,
    len: u64,
    exclusive: bool,
) {
    let tile_scan = TileScan::<V, BLOCK, ITEMS>::take(&mut arena);
    let drawn: Shared<u32> = arena.take(1);
    let tile = prefix.draw(drawn);
    let first = tile as usize * TileScan::<V, BLOCK, ITEMS>::LEN;
    let left = len as usize - first;
    let here = if left < TileScan::<V, BLOCK, ITEMS>::LEN {
        left as u32
    } else {
        TileScan::<V, BLOCK, ITEMS>::LEN as u32
    };
    let items = TileScan::<V, BLOCK, ITEMS>::load(source.skip(first), here, P::IDENTITY);
    let sums = tile_scan.run::<P>(
        items,
        [0; ITEMS],
        |own| prefix.exclusive(tile, own),
        |_, before, with| if exclusive { before.value } else { with.value },
    );
    TileScan::<V, BLOCK, ITEMS>::store(target.skip(first), here, sums);
}
