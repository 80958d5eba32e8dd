//! Segmented scan, in one pass over the data: sums begin anew where a flag is set or the key changes.

use evenpath_simt::{kernel, thread, warp, Arena, Element, Global, GlobalMut, Shared};

use crate::block::operator::{Max, Min, Number, Operator, OperatorCode, Segmented, Sum};
use crate::block::tile_prefix::TilePrefix;
use crate::block::tile_scan::TileScan;

/// What tells where segments begin.
pub trait SegmentMark: Element {
    /// Whether an element begins a segment, by its own mark and the one before.
    fn begins(self, previous: Self) -> bool;
}

/// A flag: not zero at a segment's first element.
impl SegmentMark for u8 {
    #[inline(always)]
    fn begins(self, _: Self) -> bool {
        self != 0
    }
}

macro_rules! keys {
    ($($type:ident)*) => {$(
        /// A key: equal within a segment.
        impl SegmentMark for $type {
            #[inline(always)]
            fn begins(self, previous: Self) -> bool {
                self != previous
            }
        }
    )*};
}
keys!(u32 u64);

kernel! {
    /// Scans each segment: one block a tile, tiles in the order in which blocks begin.
    pub struct SegmentedScan<V: Number, K: SegmentMark> {
        /// The elements.
        pub source: Global<V>,
        /// One mark an element.
        pub marks: Global<K>,
        /// Output: as many as elements.
        pub target: GlobalMut<V>,
        /// The look-back's state: [`state_words`](crate::block::tile_prefix::state_words) words, all zero.
        pub state: GlobalMut<u64>,
        /// Elements, fewer than 2³².
        pub len: u64,
        /// Tiles.
        pub tiles: u32,
        /// An [`OperatorCode`].
        pub operator: u32,
        /// Whether an element's own value is left out of its sum.
        pub exclusive: u32,
    }
    shared: 4 + 4 + TileScan::<V, BLOCK, ITEMS>::BYTES;
    body: scan::<V, K, BLOCK, ITEMS>;
    entries: {
        segmented_scan_u32_by_flag in segmented_u32_by_flag: <V = u32, K = u8>, 256 x 8;
        segmented_scan_u32_by_u32 in segmented_u32_by_u32: <V = u32, K = u32>, 256 x 8;
        segmented_scan_u32_by_u64 in segmented_u32_by_u64: <V = u32, K = u64>, 256 x 8;
        segmented_scan_f32_by_flag in segmented_f32_by_flag: <V = f32, K = u8>, 256 x 8;
        segmented_scan_f32_by_u32 in segmented_f32_by_u32: <V = f32, K = u32>, 256 x 8;
        segmented_scan_f32_by_u64 in segmented_f32_by_u64: <V = f32, K = u64>, 256 x 8 resident 4;
        segmented_scan_f64_by_flag in segmented_f64_by_flag: <V = f64, K = u8>, 256 x 8;
        segmented_scan_f64_by_u32 in segmented_f64_by_u32: <V = f64, K = u32>, 256 x 8;
        segmented_scan_f64_by_u64 in segmented_f64_by_u64: <V = f64, K = u64>, 256 x 8;
    }
}

#[inline(always)]
fn scan<V: Number, K: SegmentMark, const BLOCK: usize, const ITEMS: usize>(
    arena: Arena,
    source: Global<V>,
    marks: Global<K>,
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
        scan_by::<V, K, Sum, BLOCK, ITEMS>(arena, source, marks, target, prefix, len, exclusive != 0);
    } else if operator == OperatorCode::Min as u32 {
        scan_by::<V, K, Min, BLOCK, ITEMS>(arena, source, marks, target, prefix, len, exclusive != 0);
    } else {
        scan_by::<V, K, Max, BLOCK, ITEMS>(arena, source, marks, target, prefix, len, exclusive != 0);
    }
}

#[inline(always)]
fn scan_by<V: Number, K: SegmentMark, P: Operator<V>, const BLOCK: usize, const ITEMS: usize>(
    mut arena: Arena,
    source: Global<V>,
    marks: Global<K>,
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
    let heads = heads::<V, K, BLOCK, ITEMS>(marks, first, here);
    let sums = tile_scan.run::<Segmented<P>>(
        items,
        heads,
        |own| prefix.exclusive(tile, own),
        |head, before, with| match exclusive {
            true if head != 0 => P::IDENTITY,
            true => before.value,
            false => with.value,
        },
    );
    TileScan::<V, BLOCK, ITEMS>::store(target.skip(first), here, sums);
}

/// Which of this thread's elements begin a segment: 1 for those, 0 for the others. The first element of all does.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn heads<V: Number, K: SegmentMark, const BLOCK: usize, const ITEMS: usize>(
    marks: Global<K>,
    first: usize,
    len: u32,
) -> [u32; ITEMS] {
    let width = TileScan::<V, BLOCK, ITEMS>::WIDTH;
    let own = TileScan::<V, BLOCK, ITEMS>::load(marks.skip(first), len, K::ZERO);
    let mut heads = [0; ITEMS];
    // The mark before the warp's first element.
    let start = first + TileScan::<V, BLOCK, ITEMS>::place(0) as usize;
    let mut before_row = K::ZERO;
    if thread::lane() == 0 && start > 0 && TileScan::<V, BLOCK, ITEMS>::place(0) < len {
        before_row = marks.load(start - 1);
    }
    for row in 0..TileScan::<V, BLOCK, ITEMS>::ROWS {
        let last = own[row * width + width - 1];
        let below = warp::shuffle_up(warp::FULL, last, 1);
        let mut previous = if thread::lane() == 0 { before_row } else { below };
        for item in row * width..(row + 1) * width {
            heads[item] = u32::from(own[item].begins(previous));
            previous = own[item];
        }
        before_row = warp::shuffle(warp::FULL, last, thread::WARP_SIZE - 1);
    }
    if start == 0 && thread::lane() == 0 {
        heads[0] = 1;
    }
    heads
}
