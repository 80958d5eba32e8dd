//! The conversion of CSR to sliced ELL with slices of a warp's rows.
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Arithmetic, Global, GlobalMut};

use super::row::PADDING;
use crate::block::radix_sort::{warp_striped, RadixSort};
use crate::{GlobalCsr, GlobalPattern, Offset, RowMap};

/// Rows of a slice.
pub const SLICE_HEIGHT: u32 = thread::WARP_SIZE;

/// Rows that [`SortWindows`] sorts together.
pub const WINDOW_ROWS: u32 = 512;

/// Bits of a length that count when rows are sorted.
const LENGTH_BITS: u32 = 20;

kernel! {
    /// Sorts the rows of each window of [`WINDOW_ROWS`] by length, the longest first, and keeps the order of equally
    /// long ones: one block per window (SELL-C-σ; Kreutzer et al., SIAM J. Sci. Comput. 36, 2014). Rows of 2²⁰ − 1
    /// nonzeros and more count as equally long.
    pub struct SortWindows<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// Output: the row at each position.
        pub order: GlobalMut<u32>,
    }
    shared: RadixSort::<u32, BLOCK, ITEMS>::BYTES;
    body: SortWindows::sort_windows::<BLOCK, ITEMS>;
    entry: ell_sort_windows_{O} in ell_slices: O in [u32, u64], 128 x 4;
}

impl<O: Offset> SortWindows<O> {
    #[device]
    fn sort_windows<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        const { assert!(BLOCK * ITEMS == WINDOW_ROWS as usize) };
        const { assert!(LENGTH_BITS + RadixSort::<u32, BLOCK, ITEMS>::PLACE_BITS <= u32::BITS) };
        let sort = RadixSort::<u32, BLOCK, ITEMS>::take(&mut arena);
        let (first, rows) = (thread::block() * WINDOW_ROWS, self.pattern.rows);
        let most = (1 << LENGTH_BITS) - 1;
        // Absent rows are shorter than any other.
        let mut keys = [most; ITEMS];
        for item in 0..ITEMS {
            let row = first + warp_striped::<ITEMS>(item) as u32;
            if row < rows {
                let len = self.pattern.row_len(row as usize).min(u64::from(most));
                keys[item] = most - len as u32;
            }
        }
        let places = sort.sort_permutation(&mut keys, LENGTH_BITS);
        for item in 0..ITEMS {
            let position = first + warp_striped::<ITEMS>(item) as u32;
            if position < rows {
                self.order.store(position as usize, first + u32::from(places[item]));
            }
        }
    }
}

kernel! {
    /// Finds the width of each slice, that of its longest row: one thread per row.
    pub struct SliceWidths<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// The order in which its rows are stored.
        pub row_order: RowMap,
        /// Output: the width of each slice; then a zero, so that an exclusive scan ends with the sum.
        pub widths: GlobalMut<u64>,
    }
    shared: 0;
    body: SliceWidths::slice_widths::<BLOCK>;
    entry: ell_slice_widths_{O} in ell_slices: O in [u32, u64], 256 x 1;
}

impl<O: Offset> SliceWidths<O> {
    #[device]
    fn slice_widths<const BLOCK: usize>(self, _: Arena) {
        let position = thread::global_index::<BLOCK>() as u32;
        let rows = self.pattern.rows;
        let mut len = 0;
        if position < rows {
            len = self.pattern.row_len(self.row_order.row(position as usize));
        }
        let width = warp::reduce(len, u64::max);
        if thread::lane() == 0 && position < rows {
            self.widths.store((position / SLICE_HEIGHT) as usize, width);
        }
        if position == 0 {
            self.widths.store(rows.div_ceil(SLICE_HEIGHT) as usize, 0);
        }
    }
}

kernel! {
    /// Copies the nonzeros to their slots, and fills the rest with padding: one thread per row, and for each that the last slice has
    /// beyond.
    pub struct FillSlices<V: Arithmetic, O: Offset> {
        /// The matrix.
        pub matrix: GlobalCsr<V, O>,
        /// The order in which its rows are stored.
        pub row_order: RowMap,
        /// Start of each slice, and the end of the last one, in units of [`SLICE_HEIGHT`] slots.
        pub slice_offsets: Global<u64>,
        /// Output: column indices; [`PADDING`] where a slot holds nothing.
        pub column_indices: GlobalMut<u32>,
        /// Output: values; zero where a slot holds nothing.
        pub values: GlobalMut<V>,
        /// Not zero if only values are read and written.
        pub are_columns_known: u32,
    }
    shared: 0;
    body: FillSlices::fill_slices::<BLOCK, ITEMS>;
    entries: {
        ell_fill_slices_{V}_{O} in ell_slices: V in [f32, f64], O in [u32, u64], 256 x 4;
        ell_fill_slices_{V}_{O} in ell_{V}: V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 256 x 4;
    }
}

impl<V: Arithmetic, O: Offset> FillSlices<V, O> {
    #[device]
    fn fill_slices<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let Self { matrix, slice_offsets, .. } = self;
        let position = thread::global_index::<BLOCK>() as u32;
        let slice = position / SLICE_HEIGHT;
        if slice >= matrix.rows.div_ceil(SLICE_HEIGHT) {
            return;
        }
        let (begin, end) = (slice_offsets.load(slice as usize), slice_offsets.load(slice as usize + 1));
        let mut own = (0, 0);
        if position < matrix.rows {
            own = matrix.pattern().row_bounds(self.row_order.row(position as usize));
        }
        let (mut nonzero, width) = (own.0, (end - begin) as usize);
        let mut slot = begin as usize * SLICE_HEIGHT as usize + thread::lane() as usize;
        let mut at = 0;
        while at < width {
            let mut columns = [PADDING; ITEMS];
            let mut values = [V::ZERO; ITEMS];
            for item in 0..ITEMS {
                if nonzero + item < own.1 {
                    values[item] = matrix.values.load(nonzero + item);
                    if self.are_columns_known == 0 {
                        columns[item] = matrix.column_indices.load(nonzero + item);
                    }
                }
            }
            for item in 0..ITEMS {
                if at + item < width {
                    let place = slot + item * SLICE_HEIGHT as usize;
                    if self.are_columns_known == 0 {
                        self.column_indices.store(place, columns[item]);
                    }
                    self.values.store(place, values[item]);
                }
            }
            nonzero += ITEMS;
            slot += ITEMS * SLICE_HEIGHT as usize;
            at += ITEMS;
        }
    }
}
