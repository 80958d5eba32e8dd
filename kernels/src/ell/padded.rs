//! ELL and sliced ELL: padding is read, and told by its column.

use evenpath_simt::{kernel, thread, Arena, Float, Global, GlobalMut};

use super::row::{ByColumn, RowSlots};
use crate::update::update;

kernel! {
    /// y = αAx + βy for a matrix in ELL: one thread a row.
    pub struct Ell<V: Float> {
        /// Columns, [`PADDING`](super::PADDING) behind a row's last; slot j of row i is at `j * rows + i`.
        pub column_indices: Global<u32>,
        /// Values in the same places, zero where there is padding.
        pub values: Global<V>,
        /// The dense vector, one element a column.
        pub x: Global<V>,
        /// The result, one element a row; read only where `beta` is not zero.
        pub y: GlobalMut<V>,
        /// Rows of the matrix.
        pub rows: u32,
        /// Slots of a row.
        pub width: u32,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
    shared: 0;
    body: Ell::ell::<BLOCK, ITEMS>;
    entries: {
        spmv_ell_f32 in ell_f32: <V = f32>, 256 x 8;
        spmv_ell_f64 in ell_f64: <V = f64>, 256 x 8;
    }
}

impl<V: Float> Ell<V> {
    #[inline(always)]
    fn ell<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let row = thread::block() as usize * BLOCK + thread::index() as usize;
        if row < self.rows as usize {
            let slots = RowSlots {
                column_indices: self.column_indices,
                values: self.values,
                first: row,
                stride: self.rows,
            };
            update(self.y, row, self.alpha, slots.dot::<ByColumn, ITEMS>(self.x, self.width), self.beta);
        }
    }
}

kernel! {
    /// y = αAx + βy for a matrix in sliced ELL: one thread a row.
    pub struct SlicedEll<V: Float> {
        /// Where each slice begins, and where the last one ends, in units of `slice_height` slots; the difference is
        /// the slice's width.
        pub slice_offsets: Global<u64>,
        /// Columns, [`PADDING`](super::PADDING) behind a row's last; slot j of a slice's row i is at
        /// `j * slice_height + i` of the slice.
        pub column_indices: Global<u32>,
        /// Values in the same places, zero where there is padding.
        pub values: Global<V>,
        /// The row of the matrix that each stored row is; not read unless `is_ordered`.
        pub row_order: Global<u32>,
        /// The dense vector, one element a column.
        pub x: Global<V>,
        /// The result, one element a row; read only where `beta` is not zero.
        pub y: GlobalMut<V>,
        /// Rows of the matrix.
        pub rows: u32,
        /// Rows of a slice, not 0.
        pub slice_height: u32,
        /// Whether rows are stored in another order than that of y.
        pub is_ordered: u32,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
    shared: 0;
    body: SlicedEll::sliced_ell::<BLOCK, ITEMS>;
    entries: {
        spmv_sliced_ell_f32 in ell_f32: <V = f32>, 256 x 8;
        spmv_sliced_ell_f64 in ell_f64: <V = f64>, 256 x 4;
    }
}

impl<V: Float> SlicedEll<V> {
    #[inline(always)]
    fn sliced_ell<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let position = thread::block() as usize * BLOCK + thread::index() as usize;
        if position < self.rows as usize {
            // The height is not 0; without `max` the compiler leaves a trap for it.
            let slice = position as u32 / self.slice_height.max(1);
            let (begin, end) =
                (self.slice_offsets.load(slice as usize), self.slice_offsets.load(slice as usize + 1));
            let row = if self.is_ordered == 0 { position } else { self.row_order.load(position) as usize };
            let first = begin as usize * self.slice_height as usize
                + (position as u32 - slice * self.slice_height) as usize;
            let slots = RowSlots {
                column_indices: self.column_indices,
                values: self.values,
                first,
                stride: self.slice_height,
            };
            update(
                self.y,
                row,
                self.alpha,
                slots.dot::<ByColumn, ITEMS>(self.x, (end - begin) as u32),
                self.beta,
            );
        }
    }
}
