//! Rows of any size: a block a row, with a bit a column.

use evenpath_simt::{kernel, thread, Arena, Float, Global, GlobalMut, Shared};

use super::bitmap::{Bitmap, PACKET};
use super::entries::{nth_row, Matrix};
use super::ranked::each;
use super::stage::{Stage, Sums, Windows};
use crate::block::count_scan::CountScan;
use crate::Offset;

/// Windows are made of so many columns.
pub const WINDOW_COLUMNS: u32 = PACKET;

/// Bytes of shared memory of a block of `block` threads: for windows of `packets` times [`WINDOW_COLUMNS`] columns,
/// `sums` sums and row offsets of `offset_bytes`. Who only counts has values of 0 bytes.
pub const fn window_shared_bytes(
    block: u32,
    packets: u32,
    sums: u32,
    value_bytes: u32,
    offset_bytes: u32,
) -> u32 {
    let bytes = Bitmap::bytes(packets)
        + block / 32 * 4
        + block * (offset_bytes + value_bytes + 8)
        + sums * value_bytes;
    // Arrays of 8 bytes an element may begin behind one of 4.
    bytes + 8
}

kernel! {
    /// Counts the entries of rows of C: a block a row.
    pub struct SpgemmWindowCount<O: Offset> {
        /// Row offsets of A.
        pub a_row_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Column indices of B, ascending within rows.
        pub b_columns: Global<u32>,
        /// The rows, if `listed`.
        pub list: Global<u32>,
        /// First column of each row of C.
        pub firsts: Global<u32>,
        /// Last column of each row of C.
        pub lasts: Global<u32>,
        /// Output: entries of each of the rows.
        pub lengths: GlobalMut<u64>,
        /// Not zero if `list` has the rows; else they are the first of the matrix.
        pub listed: u32,
        /// Columns of a window, in units of [`WINDOW_COLUMNS`].
        pub packets: u32,
        /// Lanes a row of B, as a power of two: no more than a block has, and a thirty-second of them or more.
        pub lanes_log2: u32,
    }
    shared: 0;
    body: SpgemmWindowCount::count_row::<BLOCK>;
    entries: {
        spgemm_window_count_u32_32 in spgemm_count: <O = u32>, 32 x 1;
        spgemm_window_count_u64_32 in spgemm_count: <O = u64>, 32 x 1;
        spgemm_window_count_u32_128 in spgemm_count: <O = u32>, 128 x 1;
        spgemm_window_count_u64_128 in spgemm_count: <O = u64>, 128 x 1;
        spgemm_window_count_u32_512 in spgemm_count: <O = u32>, 512 x 1;
        spgemm_window_count_u64_512 in spgemm_count: <O = u64>, 512 x 1;
    }
}

impl<O: Offset> SpgemmWindowCount<O> {
    #[inline(always)]
    fn count_row<const BLOCK: usize>(self, _: Arena) {
        let a = Matrix { row_offsets: self.a_row_offsets, columns: self.a_columns, values: self.a_columns };
        let b = Matrix { row_offsets: self.b_row_offsets, columns: self.b_columns, values: self.b_columns };
        let mut arena = Arena::dynamic(window_shared_bytes(BLOCK as u32, self.packets, 0, 0, O::SIZE as u32));
        let bitmap = Bitmap::take(&mut arena, self.packets);
        let stage = Stage::<u32, O, BLOCK>::take::<false>(&mut arena, self.lanes_log2);
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let row = nth_row(self.list, self.listed, thread::block(), true);
        let own = a.entries_if(row, true);
        let mut count = 0;
        let mut windows =
            Windows::new(self.firsts.load(row as usize), self.lasts.load(row as usize), self.packets);
        while let Some(window) = windows.next() {
            let bitmap = bitmap.window(window.start, window.len);
            bitmap.clear::<BLOCK>();
            thread::barrier();
            stage.mark(a, b, own, window, bitmap);
            thread::barrier();
            count += bitmap.count_own::<BLOCK>();
            thread::barrier();
        }
        let counted = scan.exclusive(count);
        if thread::index() == 0 {
            self.lengths.store(row as usize, u64::from(counted.total));
        }
    }
}

kernel! {
    /// Computes rows of C: a block a row.
    pub struct SpgemmWindowFill<V: Float, O: Offset> {
        /// Row offsets of A.
        pub a_row_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Values of A.
        pub a_values: Global<V>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Column indices of B, ascending within rows.
        pub b_columns: Global<u32>,
        /// Values of B.
        pub b_values: Global<V>,
        /// Row offsets of C.
        pub c_row_offsets: Global<u64>,
        /// Column indices of C: output, unless `known`.
        pub c_columns: GlobalMut<u32>,
        /// Output: values of C.
        pub c_values: GlobalMut<V>,
        /// The rows, if `listed`.
        pub list: Global<u32>,
        /// First column of each row of C.
        pub firsts: Global<u32>,
        /// Last column of each row of C.
        pub lasts: Global<u32>,
        /// Not zero if `list` has the rows; else they are the first of the matrix.
        pub listed: u32,
        /// Not zero if C's columns are given; products that fall elsewhere are left out.
        pub known: u32,
        /// Columns of a window, in units of [`WINDOW_COLUMNS`].
        pub packets: u32,
        /// Sums that shared memory has room for; windows with more are summed in C.
        pub sums: u32,
        /// Lanes a row of B, as a power of two: no more than a block has, and a thirty-second of them or more.
        pub lanes_log2: u32,
    }
    shared: 0;
    body: SpgemmWindowFill::fill_row::<BLOCK>;
    entries: {
        spgemm_window_fill_f32_u32_32 in spgemm_fill_f32_u32: <V = f32, O = u32>, 32 x 1 resident 28;
        spgemm_window_fill_f32_u64_32 in spgemm_fill_f32_u64: <V = f32, O = u64>, 32 x 1 resident 28;
        spgemm_window_fill_f64_u32_32 in spgemm_fill_f64_u32: <V = f64, O = u32>, 32 x 1 resident 28;
        spgemm_window_fill_f64_u64_32 in spgemm_fill_f64_u64: <V = f64, O = u64>, 32 x 1 resident 28;
        spgemm_window_fill_f32_u32_128 in spgemm_fill_f32_u32: <V = f32, O = u32>, 128 x 1 resident 8;
        spgemm_window_fill_f32_u64_128 in spgemm_fill_f32_u64: <V = f32, O = u64>, 128 x 1 resident 8;
        spgemm_window_fill_f64_u32_128 in spgemm_fill_f64_u32: <V = f64, O = u32>, 128 x 1 resident 8;
        spgemm_window_fill_f64_u64_128 in spgemm_fill_f64_u64: <V = f64, O = u64>, 128 x 1 resident 8;
        spgemm_window_fill_f32_u32_512 in spgemm_fill_f32_u32: <V = f32, O = u32>, 512 x 1 resident 2;
        spgemm_window_fill_f32_u64_512 in spgemm_fill_f32_u64: <V = f32, O = u64>, 512 x 1 resident 2;
        spgemm_window_fill_f64_u32_512 in spgemm_fill_f64_u32: <V = f64, O = u32>, 512 x 1 resident 2;
        spgemm_window_fill_f64_u64_512 in spgemm_fill_f64_u64: <V = f64, O = u64>, 512 x 1 resident 2;
    }
}

impl<V: Float, O: Offset> SpgemmWindowFill<V, O> {
    #[inline(always)]
    fn fill_row<const BLOCK: usize>(self, _: Arena) {
        let Self { c_columns, c_values, sums, .. } = self;
        let a = Matrix { row_offsets: self.a_row_offsets, columns: self.a_columns, values: self.a_values };
        let b = Matrix { row_offsets: self.b_row_offsets, columns: self.b_columns, values: self.b_values };
        let bytes = window_shared_bytes(BLOCK as u32, self.packets, sums, V::SIZE as u32, O::SIZE as u32);
        let mut arena = Arena::dynamic(bytes);
        let bitmap = Bitmap::take(&mut arena, self.packets);
        let stage = Stage::<V, O, BLOCK>::take::<true>(&mut arena, self.lanes_log2);
        let shared_sums: Shared<V> = arena.take(sums as usize);
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let row = nth_row(self.list, self.listed, thread::block(), true);
        let own = a.entries_if(row, true);
        let c_begin = self.c_row_offsets.load(row as usize);
        let c_len = (self.c_row_offsets.load(row as usize + 1) - c_begin) as u32;
        let (c_columns, c_values) = (c_columns.skip(c_begin as usize), c_values.skip(c_begin as usize));
        let mut before = 0;
        let mut windows =
            Windows::new(self.firsts.load(row as usize), self.lasts.load(row as usize), self.packets);
        while let Some(mut window) = windows.next() {
            let bitmap = bitmap.window(window.start, window.len);
            bitmap.clear::<BLOCK>();
            thread::barrier();
            let count = if self.known != 0 {
                window.is_part = true;
                each::<BLOCK>(c_len, |place| {
                    let column = c_columns.load(place as usize);
                    if window.has(column) {
                        bitmap.set(column);
                    }
                });
                bitmap.rank(scan, |_, _| {})
            } else {
                stage.mark(a, b, own, window, bitmap);
                bitmap.rank(scan, |rank, column| c_columns.store_streaming((before + rank) as usize, column))
            };
            let window_values = c_values.skip(before as usize);
            let sums = Sums { shared: shared_sums, global: window_values, in_shared: count <= sums };
            each::<BLOCK>(count, |place| sums.clear(place));
            thread::barrier();
            stage.add(a, b, own, window, bitmap, sums);
            if sums.in_shared {
                each::<BLOCK>(count, |place| {
                    window_values.store_streaming(place as usize, shared_sums.load(place as usize));
                });
            }
            before += count;
        }
    }
}
