//! ELL-R: every thread stops at the end of its row.

use evenpath_simt::{device, kernel, thread, Arena, Float, Global};

use super::row::{ByColumn, InSequence, PlainByColumn, RowSlots, Slots, XAccess};
use crate::update::Update;
use crate::RowMap;

kernel! {
    /// y = αAx + βy for a matrix in ELL-R: one thread per row. Its variants are how x is read; the study of row sorting
    /// compares blocks of several sizes.
    pub struct EllR<V: Float> {
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
        spmv_ell_r_f32 in ell_f32: <V = f32>, with X = ByColumn, 256 x 8;
        spmv_ell_r_f64 in ell_f64: <V = f64>, with X = ByColumn, 256 x 4;
        spmv_ell_r_f32_x_in_sequence in ell_f32: <V = f32>, with X = InSequence, 256 x 8;
        spmv_ell_r_f64_x_in_sequence in ell_f64: <V = f64>, with X = InSequence, 256 x 4;
        spmv_ell_r_f32_32 in ell_block_sizes: <V = f32>, with X = ByColumn, 32 x 8;
        spmv_ell_r_f32_64 in ell_block_sizes: <V = f32>, with X = ByColumn, 64 x 8;
        spmv_ell_r_f32_128 in ell_block_sizes: <V = f32>, with X = ByColumn, 128 x 8;
        spmv_ell_r_f32_512 in ell_block_sizes: <V = f32>, with X = ByColumn, 512 x 8;
        spmv_ell_r_f32_plain in ell_block_sizes: <V = f32>, with X = PlainByColumn, 256 x 8;
        spmv_ell_r_f32_plain_32 in ell_block_sizes: <V = f32>, with X = PlainByColumn, 32 x 8;
        spmv_ell_r_f64_plain in ell_block_sizes: <V = f64>, with X = PlainByColumn, 256 x 4;
    }
}

impl<V: Float> EllR<V> {
    #[device]
    fn ell_r<X: XAccess, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let position = thread::block() as usize * BLOCK + thread::index() as usize;
        if position < self.rows as usize {
            let length = self.row_lengths.load_streaming(position);
            let row = self.row_order.row(position);
            let slots = RowSlots { slots: self.slots, first: position, stride: self.rows };
            self.update.store(row, slots.dot::<X, ITEMS>(self.x, length));
        }
    }
}
