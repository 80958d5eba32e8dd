//! ELL and sliced ELL: padding is read, and recognized by its column.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Global};

use super::row::{ByColumn, PlainByColumn, RowSlots, Slots, XAccess};
use crate::update::Update;
use crate::RowMap;

kernel! {
    /// y = αAx + βy for a matrix in ELL: one thread per row. Its variants are the loads of x; the study of row sorting
    /// compares blocks of several sizes.
    pub struct Ell<V: Arithmetic> {
        /// Slot j of row i is at `j * rows + i`.
        pub slots: Slots<V>,
        /// The dense vector, one element per column.
        pub x: Global<V>,
        /// The result, one element per row.
        pub update: Update<V>,
        /// Rows of the matrix.
        pub rows: u32,
        /// Slots of a row.
        pub width: u32,
    }
    shared: 0;
    body: Ell::ell::<X, BLOCK, ITEMS>;
    entries: {
        spmv_ell_{V} in ell_{V}: V in [f32, f64], X = ByColumn, 256 x 8;
        spmv_ell_{V} in ell_block_sizes:
            (V, X, B) in [
                (f32 as f32_32, ByColumn, 32), (f32 as f32_64, ByColumn, 64),
                (f32 as f32_128, ByColumn, 128), (f32 as f32_512, ByColumn, 512),
                (f32 as f32_plain, PlainByColumn, 256), (f32 as f32_plain_32, PlainByColumn, 32),
                (f64 as f64_plain, PlainByColumn, 256),
            ], B x 8;
    }
}

impl<V: Arithmetic> Ell<V> {
    #[device]
    fn ell<X: XAccess, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        if row < self.rows as usize {
            let slots = RowSlots { slots: self.slots, first: row, stride: self.rows };
            self.update.store(row, slots.dot::<X, ITEMS>(self.x, self.width));
        }
    }
}

kernel! {
    /// y = αAx + βy for a matrix in sliced ELL: one thread per row.
    pub struct SlicedEll<V: Arithmetic> {
        /// Start of each slice, and the end of the last one, in units of `slice_height` slots; the difference is the
        /// slice's width.
        pub slice_offsets: Global<u64>,
        /// Slot j of a slice's row i is at `j * slice_height + i` of the slice.
        pub slots: Slots<V>,
        /// The order in which rows are stored.
        pub row_order: RowMap,
        /// The dense vector, one element per column.
        pub x: Global<V>,
        /// The result, one element per row.
        pub update: Update<V>,
        /// Rows of the matrix.
        pub rows: u32,
        /// Rows of a slice, not 0.
        pub slice_height: u32,
    }
    shared: 0;
    body: SlicedEll::sliced_ell::<BLOCK, ITEMS>;
    entries: {
        spmv_sliced_ell_{V} in ell_{V}: (V, N) in [(f32, 8), (f64, 4)], 256 x N;
        spmv_sliced_ell_{V} in ell_{V}: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 4;
    }
}

impl<V: Arithmetic> SlicedEll<V> {
    #[device]
    fn sliced_ell<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let position = thread::global_index::<BLOCK>();
        if position < self.rows as usize {
            // The height is not 0; without `max` the compiler leaves a trap for it.
            let slice = position as u32 / self.slice_height.max(1);
            let (begin, end) =
                (self.slice_offsets.load(slice as usize), self.slice_offsets.load(slice as usize + 1));
            let row = self.row_order.row(position);
            let first = begin as usize * self.slice_height as usize
                + (position as u32 - slice * self.slice_height) as usize;
            let slots = RowSlots { slots: self.slots, first, stride: self.slice_height };
            self.update.store(row, slots.dot::<ByColumn, ITEMS>(self.x, (end - begin) as u32));
        }
    }
}
