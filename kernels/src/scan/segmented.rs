//! Segmented scan, in one pass over the data: sums start over where a flag is set, the key changes, or a row begins.

use evenpath_simt::{device, kernel, Arena, Global};

use super::marks::{BitMarks, SegmentMark, WarpMarks};
use super::scan_tile::{scan_tile, ScanArguments};
use super::tile::shared_bytes;
use crate::block::operator::{Min, Number, Operator, Segmented, Sum};

kernel! {
    /// Scans each segment: one block per tile, tiles in the order in which blocks start. Its variants are the operators.
    pub struct SegmentedScan<V: Number, K: SegmentMark> {
        /// What is scanned, and how: fewer than 2³² elements.
        pub scan: ScanArguments<V>,
        /// One mark per element.
        pub marks: Global<K>,
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
    #[device]
    fn scan_by_marks<P: Operator<V>, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let arena = Arena::dynamic(shared_bytes(V::SIZE, 0, BLOCK, ITEMS));
        let marks = WarpMarks::<K, ITEMS>::new(self.marks);
        scan_tile::<V, Segmented<P>, _, BLOCK, ITEMS>(arena, marks, self.scan);
    }
}

kernel! {
    /// [`SegmentedScan`] with one bit per element for a mark, set where the element begins a segment.
    pub struct SegmentedScanByBits<V: Number> {
        /// What is scanned, and how: fewer than 2³² elements.
        pub scan: ScanArguments<V>,
        /// One bit per element, 32 per word, the lowest first.
        pub bits: Global<u32>,
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
    #[device]
    fn scan_by_bits<P: Operator<V>, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let arena = Arena::dynamic(shared_bytes(V::SIZE, 0, BLOCK, ITEMS));
        scan_tile::<V, Segmented<P>, _, BLOCK, ITEMS>(arena, BitMarks::<ITEMS>::new(self.bits), self.scan);
    }
}
