//! ELL-R: every thread stops at the end of its row.

use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Global};

use super::row::{ByColumn, InSequence, PlainByColumn, RowSlots, Slots, XAccess};
use crate::update::Update;
use crate::RowMap;

kernel! {
    /// y = αAx + βy for a matrix in ELL-R: one thread per row. Its variants are the loads of x; the study of row
    /// sorting compares blocks of several sizes.
    pub struct EllR<V: Arithmetic> {
        /// Nonzeros of each row.
        pub row_lengths: Global<u32>,
        /// Slot j of row i is at `j * rows + i`.
        pub slots: Slots<V>,
        /// The order in which rows are stored.
        pub row_order: RowMap,
        /// The dense vector, one element per column.
        pub x: Global<V>,
        /// The result, one element per row.
        pub update: Update<V>,
        /// Rows of the matrix.
        pub rows: u32,
    }
    shared: 0;
    body: EllR::ell_r::<X, BLOCK, ITEMS>;
    entries: {
        spmv_ell_r_{V} in ell_{V}: (V, N) in [(f32, 8), (f64, 4)], X = ByColumn, 256 x N;
        spmv_ell_r_{V}_x_in_sequence in ell_{V}: (V, N) in [(f32, 8), (f64, 4)], X = InSequence, 256 x N;
        spmv_ell_r_{V} in ell_block_sizes:
            (V, X, B, N) in [
                (f32 as f32_32, ByColumn, 32, 8), (f32 as f32_64, ByColumn, 64, 8),
                (f32 as f32_128, ByColumn, 128, 8), (f32 as f32_512, ByColumn, 512, 8),
                (f32 as f32_plain, PlainByColumn, 256, 8), (f32 as f32_plain_32, PlainByColumn, 32, 8),
                (f64 as f64_plain, PlainByColumn, 256, 4),
            ], B x N;
        spmv_ell_r_{V}_x_in_sequence in ell_in_sequence:
            (V, X, B) in [
                (f32 as f32_32, InSequence, 32), (f32 as f32_64, InSequence, 64), (f32 as f32_128, InSequence, 128),
                (f32 as f32_384, InSequence, 384), (f32 as f32_512, InSequence, 512),
            ], B x 8;
    }
}

impl<V: Arithmetic> EllR<V> {
    #[device]
    fn ell_r<X: XAccess, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let position = thread::global_index::<BLOCK>();
        if position < self.rows as usize {
            let length = self.row_lengths.load_streaming(position);
            let row = self.row_order.row(position);
            let slots = RowSlots { slots: self.slots, first: position, stride: self.rows };
            self.update.store(row, slots.dot::<X, ITEMS>(self.x, length));
        }
    }
}
