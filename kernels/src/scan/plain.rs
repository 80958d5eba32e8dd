//! Plain scan, in one pass over the data.

use evenpath_simt::{device, kernel, Arena};

use super::marks::Unmarked;
use super::scan_tile::{scan_tile, ScanArguments};
use super::tile::shared_bytes;
use crate::block::operator::{Min, Number, Operator, Sum};

kernel! {
    /// Scans in one pass over the data: one block per tile, tiles in the order in which blocks start. Its variants
    /// are the operators.
    pub struct Scan<V: Number> {
        /// What is scanned, and how.
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
        let arena = Arena::dynamic(shared_bytes(V::SIZE, 0, BLOCK, ITEMS));
        scan_tile::<V, P, Unmarked, BLOCK, ITEMS>(arena, Unmarked, self.scan);
    }
}
