//! ELL-R: every thread stops at the end of its row.

use evenpath_simt::{kernel, thread, Arena, Float, Global, GlobalMut};

use super::row::{ByColumn, InSequence, RowSlots, XAccess};
use crate::update::update;

kernel! {
    /// y = αAx + βy for a matrix in ELL-R: one thread a row. Its variants are how x is read.
    pub struct EllR<V: Float> {
        /// Nonzeros of each row.
        pub row_lengths: Global<u32>,
        /// Columns; slot j of row i is at `j * rows + i`.
        pub column_indices: Global<u32>,
        /// Values in the same places.
        pub values: Global<V>,
        /// The row of the matrix that each stored row is; not read unless `is_ordered`.
        pub row_order: Global<u32>,
        /// The dense vector, one element a column.
        pub x: Global<V>,
        /// The result, one element a row; read only where `beta` is not zero.
        pub y: GlobalMut<V>,
        /// Rows of the matrix.
        pub rows: u32,
        /// Whether rows are stored in another order than that of y.
        pub is_ordered: u32,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
    shared: 0;
    body: EllR::ell_r::<X, BLOCK, ITEMS>;
    entries: {
        spmv_ell_r_f32 in ell_f32: <V = f32>, with X = ByColumn, 256 x 8;
        spmv_ell_r_f64 in ell_f64: <V = f64>, with X = ByColumn, 256 x 4;
        spmv_ell_r_f32_x_in_sequence in ell_f32: <V = f32>, with X = InSequence, 256 x 8;
        spmv_ell_r_f64_x_in_sequence in ell_f64: <V = f64>, with X = InSequence, 256 x 4;
    }
}

impl<V: Float> EllR<V> {
    #[inline(always)]
    fn ell_r<X: XAccess, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let position = thread::block() as usize * BLOCK + thread::index() as usize;
        if position < self.rows as usize {
            let length = self.row_lengths.load_streaming(position);
            let row = if self.is_ordered == 0 {
                position
            } else {
                self.row_order.load_streaming(position) as usize
            };
            let slots = RowSlots {
                column_indices: self.column_indices,
                values: self.values,
                first: position,
                stride: self.rows,
            };
            update(self.y, row, self.alpha, slots.dot::<X, ITEMS>(self.x, length), self.beta);
        }
    }
}
