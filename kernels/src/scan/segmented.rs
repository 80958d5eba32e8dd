//! Segmented scan, in one pass over the data: sums begin anew where a flag is set, the key changes, or a row begins.

use evenpath_simt::{kernel, Arena, Global, GlobalMut};

use super::marks::{BitMarks, SegmentMark, WarpMarks};
use super::scan_tile::{scan_tile, ScanArguments};
use super::tile::shared_bytes;
use crate::block::operator::{Min, Number, Operator, Segmented, Sum};

kernel! {
    /// Scans each segment: one block a tile, tiles in the order in which blocks begin. Its variants are the operators.
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
        /// Whether minima give way to maxima.
        pub flip: u32,
        /// Whether an element's own value is left out of its sum.
        pub exclusive: u32,
    }
    shared: 0;
    body: SegmentedScan::scan_by_marks::<P, BLOCK, ITEMS>;
    entries: {
        segmented_sum_u32_by_flag in segmented_sum_u32: <V = u32, K = u8>, with P = Sum, 320 x 28;
        segmented_sum_u32_by_u32 in segmented_sum_u32: <V = u32, K = u32>, with P = Sum, 320 x 28;
        segmented_sum_u32_by_u64 in segmented_sum_u32: <V = u32, K = u64>, with P = Sum, 256 x 20;
        segmented_sum_i32_by_flag in segmented_sum_i32: <V = i32, K = u8>, with P = Sum, 320 x 28;
        segmented_sum_i32_by_u32 in segmented_sum_i32: <V = i32, K = u32>, with P = Sum, 320 x 28;
        segmented_sum_i32_by_u64 in segmented_sum_i32: <V = i32, K = u64>, with P = Sum, 256 x 20;
        segmented_sum_u64_by_flag in segmented_sum_u64: <V = u64, K = u8>, with P = Sum, 256 x 18;
        segmented_sum_u64_by_u32 in segmented_sum_u64: <V = u64, K = u32>, with P = Sum, 256 x 18;
        segmented_sum_u64_by_u64 in segmented_sum_u64: <V = u64, K = u64>, with P = Sum, 256 x 14;
        segmented_sum_f32_by_flag in segmented_sum_f32: <V = f32, K = u8>, with P = Sum, 320 x 28;
        segmented_sum_f32_by_u32 in segmented_sum_f32: <V = f32, K = u32>, with P = Sum, 320 x 28;
        segmented_sum_f32_by_u64 in segmented_sum_f32: <V = f32, K = u64>, with P = Sum, 256 x 20;
        segmented_sum_f64_by_flag in segmented_sum_f64: <V = f64, K = u8>, with P = Sum, 256 x 18;
        segmented_sum_f64_by_u32 in segmented_sum_f64: <V = f64, K = u32>, with P = Sum, 256 x 18;
        segmented_sum_f64_by_u64 in segmented_sum_f64: <V = f64, K = u64>, with P = Sum, 256 x 14;
        segmented_min_u32_by_flag in segmented_min_u32: <V = u32, K = u8>, with P = Min, 320 x 28;
        segmented_min_u32_by_u32 in segmented_min_u32: <V = u32, K = u32>, with P = Min, 320 x 28;
        segmented_min_u32_by_u64 in segmented_min_u32: <V = u32, K = u64>, with P = Min, 256 x 20;
        segmented_min_i32_by_flag in segmented_min_i32: <V = i32, K = u8>, with P = Min, 320 x 28;
        segmented_min_i32_by_u32 in segmented_min_i32: <V = i32, K = u32>, with P = Min, 320 x 28;
        segmented_min_i32_by_u64 in segmented_min_i32: <V = i32, K = u64>, with P = Min, 256 x 20;
        segmented_min_u64_by_flag in segmented_min_u64: <V = u64, K = u8>, with P = Min, 256 x 18;
        segmented_min_u64_by_u32 in segmented_min_u64: <V = u64, K = u32>, with P = Min, 256 x 18;
        segmented_min_u64_by_u64 in segmented_min_u64: <V = u64, K = u64>, with P = Min, 256 x 14;
        segmented_min_f32_by_flag in segmented_min_f32: <V = f32, K = u8>, with P = Min, 320 x 28;
        segmented_min_f32_by_u32 in segmented_min_f32: <V = f32, K = u32>, with P = Min, 320 x 28;
        segmented_min_f32_by_u64 in segmented_min_f32: <V = f32, K = u64>, with P = Min, 256 x 20;
        segmented_min_f64_by_flag in segmented_min_f64: <V = f64, K = u8>, with P = Min, 256 x 18;
        segmented_min_f64_by_u32 in segmented_min_f64: <V = f64, K = u32>, with P = Min, 256 x 18;
        segmented_min_f64_by_u64 in segmented_min_f64: <V = f64, K = u64>, with P = Min, 256 x 14;
    }
}

impl<V: Number, K: SegmentMark> SegmentedScan<V, K> {
    #[inline(always)]
    fn scan_by_marks<P: Operator<V>, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let Self { marks, flip, exclusive, .. } = self;
        let arena = Arena::dynamic(shared_bytes(V::SIZE, 0, BLOCK, ITEMS));
        let marks = WarpMarks::<K, ITEMS>::new(marks);
        let (flip, exclusive) = (flip != 0, exclusive != 0);
        let arguments = ScanArguments {
            source: self.source,
            target: self.target,
            state: self.state,
            len: self.len,
            tiles: self.tiles,
            flip,
            exclusive,
        };
        scan_tile::<V, Segmented<P>, _, BLOCK, ITEMS>(arena, marks, arguments);
    }
}

kernel! {
    /// [`SegmentedScan`] with one bit an element for a mark, set where the element begins a segment.
    pub struct SegmentedScanByBits<V: Number> {
        /// The elements.
        pub source: Global<V>,
        /// As many bits, 32 a word, the lowest first.
        pub bits: Global<u32>,
        /// Output: as many as elements.
        pub target: GlobalMut<V>,
        /// The look-back's state: [`state_words`](crate::block::tile_prefix::state_words) words, all zero.
        pub state: GlobalMut<u64>,
        /// Elements, fewer than 2³².
        pub len: u64,
        /// Tiles.
        pub tiles: u32,
        /// Whether minima give way to maxima.
        pub flip: u32,
        /// Whether an element's own value is left out of its sum.
        pub exclusive: u32,
    }
    shared: 0;
    body: SegmentedScanByBits::scan_by_bits::<P, BLOCK, ITEMS>;
    entries: {
        segmented_sum_u32_by_bit in segmented_sum_u32: <V = u32>, with P = Sum, 320 x 28;
        segmented_sum_i32_by_bit in segmented_sum_i32: <V = i32>, with P = Sum, 320 x 28;
        segmented_sum_u64_by_bit in segmented_sum_u64: <V = u64>, with P = Sum, 256 x 18;
        segmented_sum_f32_by_bit in segmented_sum_f32: <V = f32>, with P = Sum, 320 x 28;
        segmented_sum_f64_by_bit in segmented_sum_f64: <V = f64>, with P = Sum, 256 x 18;
        segmented_min_u32_by_bit in segmented_min_u32: <V = u32>, with P = Min, 320 x 28;
        segmented_min_i32_by_bit in segmented_min_i32: <V = i32>, with P = Min, 320 x 28;
        segmented_min_u64_by_bit in segmented_min_u64: <V = u64>, with P = Min, 256 x 18;
        segmented_min_f32_by_bit in segmented_min_f32: <V = f32>, with P = Min, 320 x 28;
        segmented_min_f64_by_bit in segmented_min_f64: <V = f64>, with P = Min, 256 x 18;
    }
}

impl<V: Number> SegmentedScanByBits<V> {
    #[inline(always)]
    fn scan_by_bits<P: Operator<V>, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let Self { flip, exclusive, .. } = self;
        let arena = Arena::dynamic(shared_bytes(V::SIZE, 0, BLOCK, ITEMS));
        let (flip, exclusive) = (flip != 0, exclusive != 0);
        let arguments = ScanArguments {
            source: self.source,
            target: self.target,
            state: self.state,
            len: self.len,
            tiles: self.tiles,
            flip,
            exclusive,
        };
        scan_tile::<V, Segmented<P>, _, BLOCK, ITEMS>(arena, BitMarks::<ITEMS>::new(self.bits), arguments);
    }
}
