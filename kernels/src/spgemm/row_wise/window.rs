//! Rows of any size: one block per row, one bit per column.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, GlobalMut, Shared};

use super::bitmap::{Bitmap, PACKET};
use super::rows::{each, ResultEntries, RowList};
use super::spans::{Spans, Windows};
use super::stage::{ValueStage, WindowStage, WindowSums};
use crate::block::count_scan::CountScan;
use crate::semiring::{InMaxPlus, InMaxTimes, InMinFirst, InMinPlus, InOrAnd, InPlusPair, InPlusTimes};
use crate::{GlobalCsr, GlobalPattern, Offset};

/// The number of columns of a window is a multiple of this.
pub const WINDOW_COLUMNS: u32 = PACKET;

/// Bytes of shared memory of a block of `block` threads, for windows of `packets` times [`WINDOW_COLUMNS`] columns, `sums`
/// sums and row offsets of `offset_bytes`; `value_bytes` is 0 to count entries only.
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
    // Padding for arrays of 8-byte elements after one of 4-byte elements, and of 16-byte elements after one of either.
    bytes + if value_bytes > 8 { 24 } else { 8 }
}

kernel! {
    /// Counts the entries of rows of C: one block per row.
    pub struct SpgemmWindowCount<O: Offset> {
        /// A.
        pub a: GlobalPattern<O>,
        /// B, whose columns ascend within rows.
        pub b: GlobalPattern<O>,
        /// The rows.
        pub rows: RowList,
        /// The columns that each row of C spans.
        pub spans: Spans,
        /// Output: the number of entries of each row.
        pub lengths: GlobalMut<u64>,
        /// Columns of a window, in units of [`WINDOW_COLUMNS`].
        pub packets: u32,
        /// log2 of the lanes per row of B: at most a block's threads, and at least a thirty-second of them.
        pub lanes_log2: u32,
    }
    shared: 0;
    body: SpgemmWindowCount::count_row::<BLOCK>;
    entry: spgemm_window_count_{O}_{B} in spgemm_count: B in [32, 128, 512], O in [u32, u64], B x 1;
}

impl<O: Offset> SpgemmWindowCount<O> {
    #[device]
    fn count_row<const BLOCK: usize>(self, _: Arena) {
        let Self { a, b, spans, .. } = self;
        let mut arena = Arena::dynamic(window_shared_bytes(BLOCK as u32, self.packets, 0, 0, O::SIZE as u32));
        let bitmap = Bitmap::take(&mut arena, self.packets);
        let stage = WindowStage::<O, BLOCK>::take(&mut arena, self.lanes_log2);
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let row = self.rows.nth(thread::block(), true);
        let own = a.entries_if(row, true);
        let mut count = 0;
        let mut windows = Windows::of_row(spans, row, self.packets);
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
    /// Computes rows of C: one block per row.
    pub struct SpgemmWindowFill<V: Arithmetic, O: Offset> {
        /// A.
        pub a: GlobalCsr<V, O>,
        /// B, whose columns ascend within rows.
        pub b: GlobalCsr<V, O>,
        /// C.
        pub c: ResultEntries<V>,
        /// The rows.
        pub rows: RowList,
        /// The columns that each row of C spans.
        pub spans: Spans,
        /// Columns of a window, in units of [`WINDOW_COLUMNS`].
        pub packets: u32,
        /// The number of sums that shared memory has room for; windows with more are summed in C.
        pub sums: u32,
        /// log2 of the lanes per row of B: at most a block's threads, and at least a thirty-second of them.
        pub lanes_log2: u32,
    }
    shared: 0;
    body: SpgemmWindowFill::fill_row::<BLOCK>;
    entries: {
        spgemm_window_fill_{V}_{O}_{B} in spgemm_fill_{V}_{O}:
            (B, R) in [(32, 28), (128, 8), (512, 2)], V in [f32, f64], O in [u32, u64], B x 1 resident R;
        spgemm_window_fill_{V}_{O}_{B} in spgemm_fill_{V}_{O}:
            (B, R) in [(32, 16), (128, 4), (512, 1)], V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], B x 1 resident R;
        semiring_spgemm_window_{V}_{O} in semiring_spgemm_plus_times:
            V in [InPlusTimes<u32> as plus_times_u32, InPlusTimes<u64> as plus_times_u64], O in [u32, u64], 128 x 1 resident 8;
        semiring_spgemm_window_{V}_{O} in semiring_spgemm_min_plus:
            V in [InMinPlus<f32> as min_plus_f32, InMinPlus<f64> as min_plus_f64,
                InMinPlus<u32> as min_plus_u32, InMinPlus<u64> as min_plus_u64,
                InMinPlus<i32> as min_plus_i32, InMinPlus<i64> as min_plus_i64], O in [u32, u64], 128 x 1 resident 8;
        semiring_spgemm_window_{V}_{O} in semiring_spgemm_max:
            V in [InMaxPlus<f32> as max_plus_f32, InMaxPlus<f64> as max_plus_f64,
                InMaxPlus<i32> as max_plus_i32, InMaxPlus<i64> as max_plus_i64,
                InMaxTimes<f32> as max_times_f32, InMaxTimes<f64> as max_times_f64], O in [u32, u64], 128 x 1 resident 8;
        semiring_spgemm_window_{V}_{O} in semiring_spgemm_pattern:
            V in [InOrAnd<u32> as or_and_u32, InPlusPair<u32> as plus_pair_u32,
                InPlusPair<u64> as plus_pair_u64, InMinFirst<f32> as min_first_f32,
                InMinFirst<f64> as min_first_f64, InMinFirst<u32> as min_first_u32,
                InMinFirst<u64> as min_first_u64], O in [u32, u64], 128 x 1 resident 8;
    }
}

impl<V: Arithmetic, O: Offset> SpgemmWindowFill<V, O> {
    #[device]
    fn fill_row<const BLOCK: usize>(self, _: Arena) {
        // 1. Lay out shared memory, and find the block's row.
        let Self { a, b, c, sums, .. } = self;
        let bytes = window_shared_bytes(BLOCK as u32, self.packets, sums, V::SIZE as u32, O::SIZE as u32);
        let mut arena = Arena::dynamic(bytes);
        let bitmap = Bitmap::take(&mut arena, self.packets);
        let stage = ValueStage::<V, O, BLOCK>::take(&mut arena, self.lanes_log2);
        let shared_sums: Shared<V> = arena.take(sums as usize);
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let row = self.rows.nth(thread::block(), true);
        let own = a.pattern().entries_if(row, true);
        let c_row = c.pattern.row_if(row, true);
        let c_values = c.values.skip(c_row.begin);
        let mut before = 0;
        let mut windows = Windows::of_row(self.spans, row, self.packets);
        while let Some(mut window) = windows.next() {
            // 2. Mark the window's columns, and rank them.
            let bitmap = bitmap.window(window.start, window.len);
            bitmap.clear::<BLOCK>();
            thread::barrier();
            let count = if c.pattern.is_known != 0 {
                window.is_part = true;
                c_row.mark::<BLOCK>(window, bitmap);
                bitmap.rank(scan, |_, _| {})
            } else {
                stage.mark(a.pattern(), b.pattern(), own, window, bitmap);
                bitmap.rank(scan, |place, column| {
                    c_row.columns.store_streaming((before + place) as usize, column);
                })
            };
            // 3. Add up the products in the window.
            let window_values = c_values.skip(before as usize);
            let sums = WindowSums { shared: shared_sums, global: window_values, in_shared: count <= sums };
            each::<BLOCK>(count, |place| sums.clear(place));
            thread::barrier();
            stage.add((a, b), own, window, bitmap, sums);
            if sums.in_shared {
                each::<BLOCK>(count, |place| {
                    window_values.store_streaming(place as usize, shared_sums.load(place as usize));
                });
            }
            before += count;
        }
    }
}
