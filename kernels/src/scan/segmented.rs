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
        segmented_{P}_{V}_by_{K} in segmented_{P}_{V}:
            P in [Sum as sum, Min as min], V in [u32, i32, f32],
            (K, B, N) in [(u8 as flag, 320, 28), (u32, 320, 28), (u64, 256, 20)], B x N;
        segmented_{P}_{V}_by_{K} in segmented_{P}_{V}:
            P in [Sum as sum, Min as min], V in [u64, f64], (K, N) in [(u8 as flag, 18), (u32, 18), (u64, 14)], 256 x N;
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
    entry: segmented_{P}_{V}_by_bit in segmented_{P}_{V}:
        P in [Sum as sum, Min as min],
        (V, B, N) in [(u32, 320, 28), (i32, 320, 28), (u64, 256, 18), (f32, 320, 28), (f64, 256, 18)], B x N;
}

impl<V: Number> SegmentedScanByBits<V> {
    #[device]
    fn scan_by_bits<P: Operator<V>, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let arena = Arena::dynamic(shared_bytes(V::SIZE, 0, BLOCK, ITEMS));
        scan_tile::<V, Segmented<P>, _, BLOCK, ITEMS>(arena, BitMarks::<ITEMS>::new(self.bits), self.scan);
    }
}
