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
    entries: {
        scan_sum_u32 in scan_u32: <V = u32>, with P = Sum, 320 x 44;
        scan_min_u32 in scan_u32: <V = u32>, with P = Min, 320 x 44;
        scan_sum_i32 in scan_i32: <V = i32>, with P = Sum, 320 x 44;
        scan_min_i32 in scan_i32: <V = i32>, with P = Min, 320 x 44;
        scan_sum_u64 in scan_u64: <V = u64>, with P = Sum, 384 x 18;
        scan_min_u64 in scan_u64: <V = u64>, with P = Min, 384 x 18;
        scan_sum_f32 in scan_f32: <V = f32>, with P = Sum, 320 x 44;
        scan_min_f32 in scan_f32: <V = f32>, with P = Min, 320 x 44;
        scan_sum_f64 in scan_f64: <V = f64>, with P = Sum, 384 x 18;
        scan_min_f64 in scan_f64: <V = f64>, with P = Min, 384 x 18;
    }
}

impl<V: Number> Scan<V> {
    #[device]
    fn scan<P: Operator<V>, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let arena = Arena::dynamic(shared_bytes(V::SIZE, 0, BLOCK, ITEMS));
        scan_tile::<V, P, Unmarked, BLOCK, ITEMS>(arena, Unmarked, self.scan);
    }
}
