//! Plain and segmented scans, in one pass over the data. Segmented sums start over where a flag is set, the key changes, or a
//! row begins.

use evenpath_simt::{device, kernel, Arena, Global};

use super::marks::{BitMarks, SegmentMark, Unmarked, WarpMarks};
use super::scan_tile::{scan_tile, ScanArguments};
use crate::block::operator::{Min, Number, Operator, Segmented, Sum};

kernel! {
    /// Scans in one pass over the data: one block per tile, tiles in the order in which blocks start. Its variants
    /// are the operators.
    pub struct Scan<V: Number> {
        /// Parameters of the scan.
        pub scan: ScanArguments<V>,
    }
    shared: 0;
    body: Scan::scan::<P, BLOCK, ITEMS>;
    entry: scan_{P}_{V} in scan_{V}:
        (V, B, N) in [(u32, 320, 44), (i32, 320, 44), (u64, 384, 18), (f32, 320, 44), (f64, 384, 18)],
        P in [Sum as sum, Min as min], B x N;
}

impl<V: Number> Scan<V> {
    #[device]
    fn scan<P: Operator<V>, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        scan_tile::<V, P, Unmarked, BLOCK, ITEMS>(Unmarked, self.scan);
    }
}

kernel! {
    /// Scans each segment: one block per tile, tiles in the order in which blocks start. Its variants are the operators.
    pub struct SegmentedScan<V: Number, K: SegmentMark> {
        /// Parameters of the scan, of fewer than 2³² elements.
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
        scan_tile::<V, Segmented<P>, _, BLOCK, ITEMS>(WarpMarks::<K, ITEMS>::new(self.marks), self.scan);
    }
}

kernel! {
    /// [`SegmentedScan`] with one bit per element for a mark, set where the element begins a segment.
    pub struct SegmentedScanByBits<V: Number> {
        /// Parameters of the scan, of fewer than 2³² elements.
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
        scan_tile::<V, Segmented<P>, _, BLOCK, ITEMS>(BitMarks::<ITEMS>::new(self.bits), self.scan);
    }
}
