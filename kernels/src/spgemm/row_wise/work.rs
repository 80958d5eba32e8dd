//! What the rows of C take: their products, and the span of their columns.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, thread, warp, Arena, Global, GlobalMut};

use super::entries::{Entries, Matrix};
use crate::Offset;

kernel! {
    /// Counts the products of each row of C; finds the first and the last column that it can have, for rows with more than
    /// `short` products. `1 << lanes_log2` lanes a row. A row without a span has a first column above its last. Rows with
    /// more than `longest` entries are left as rows without entries, and listed for [`SpgemmLongRowWork`].
    pub struct SpgemmRowWork<O: Offset> {
        /// Row offsets of A, `rows` + 1.
        pub a_row_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Column indices of B.
        pub b_columns: Global<u32>,
        /// Output: products of each row.
        pub products: GlobalMut<u64>,
        /// Output: first column of each row.
        pub firsts: GlobalMut<u32>,
        /// Output: last column of each row.
        pub lasts: GlobalMut<u32>,
        /// Output: first how many rows are listed, zero before; then these rows, in any order.
        pub long_rows: GlobalMut<u32>,
        /// Rows.
        pub rows: u32,
        /// Entries of a row that is not listed, at most.
        pub longest: u32,
        /// Products of rows whose span does not matter, at most.
        pub short: u32,
        /// Lanes a row, as a power of two, at most 5.
        pub lanes_log2: u32,
    }
    shared: 0;
    body: SpgemmRowWork::row_work::<BLOCK>;
    entries: {
        spgemm_row_work_u32 in spgemm_plan: <O = u32>, 256 x 1;
        spgemm_row_work_u64 in spgemm_plan: <O = u64>, 256 x 1;
    }
}

/// Entries of A that a lane has on their way at once.
const IN_FLIGHT: usize = 4;

/// Entries of a row of A, a lane, from which on its warp does it.
const LONG: u32 = 32;

impl<O: Offset> SpgemmRowWork<O> {
    #[inline(always)]
    fn row_work<const BLOCK: usize>(self, _: Arena) {
        let a = Matrix { row_offsets: self.a_row_offsets, columns: self.a_columns, values: self.a_columns };
        let b = Matrix { row_offsets: self.b_row_offsets, columns: self.b_columns, values: self.b_columns };
        let row = thread::block() * (BLOCK as u32 >> self.lanes_log2) + (thread::index() >> self.lanes_log2);
        let lane = thread::index() & ((1 << self.lanes_log2) - 1);
        let mut own = a.entries_if(row, row < self.rows);
        if own.len > self.longest {
            if lane == 0 {
                let place = self.long_rows.fetch_add(0, 1, Ordering::Relaxed, Scope::Device);
                self.long_rows.store(1 + place as usize, row);
            }
            own = Entries::NONE;
        }
        let is_long = own.len > LONG << self.lanes_log2;
        let (mut count, mut first, mut last) = (0_u64, u32::MAX, 0);
        if !is_long {
            each_row_of_b(a, b, own, lane, self.lanes_log2, |entries| count += u64::from(entries.len));
        }
        let mut distance = (1 << self.lanes_log2) / 2;
        while distance > 0 {
            count += warp::shuffle_xor(warp::FULL, count, distance);
            distance /= 2;
        }
        if count > u64::from(self.short) {
            each_row_of_b(a, b, own, lane, self.lanes_log2, |entries| {
                widen(b, entries, &mut first, &mut last)
            });
        }
        let mut distance = (1 << self.lanes_log2) / 2;
        while distance > 0 {
            first = first.min(warp::shuffle_xor(warp::FULL, first, distance));
            last = last.max(warp::shuffle_xor(warp::FULL, last, distance));
            distance /= 2;
        }
        // Long rows one after the other, by the whole warp.
        let mut left = warp::ballot(warp::FULL, is_long && lane == 0);
        while left != 0 {
            let source = left.trailing_zeros();
            let entries = Entries {
                begin: warp::shuffle(warp::FULL, own.begin as u64, source) as usize,
                len: warp::shuffle(warp::FULL, own.len, source),
            };
            let (all, least, greatest) = warp_work(a, b, entries);
            if thread::lane() == source {
                (count, first, last) = (all, least, greatest);
            }
            left &= left - 1;
        }
        if row < self.rows && lane == 0 {
            self.products.store(row as usize, count);
            self.firsts.store(row as usize, first);
            self.lasts.store(row as usize, last);
        }
    }
}

/// The products of entries of a row of A, and the first and last column of the rows of B that they name, by a warp.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn warp_work<O: Offset>(a: Matrix<u32, O>, b: Matrix<u32, O>, entries: Entries) -> (u64, u32, u32) {
    let (mut all, mut least, mut greatest) = (0_u64, u32::MAX, 0);
    each_row_of_b(a, b, entries, thread::lane(), thread::WARP_SIZE.ilog2(), |entries| {
        all += u64::from(entries.len);
        widen(b, entries, &mut least, &mut greatest);
    });
    let mut distance = thread::WARP_SIZE / 2;
    while distance > 0 {
        least = least.min(warp::shuffle_xor(warp::FULL, least, distance));
        greatest = greatest.max(warp::shuffle_xor(warp::FULL, greatest, distance));
        distance /= 2;
    }
    (warp::reduce_add(all), least, greatest)
}

/// Widens a span of columns by a row of B.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn widen<O: Offset>(b: Matrix<u32, O>, entries: Entries, first: &mut u32, last: &mut u32) {
    if entries.len > 0 {
        *first = (*first).min(b.column_if(entries, 0, true));
        *last = (*last).max(b.column_if(entries, entries.len - 1, true));
    }
}

/// Calls `visit` with the rows of B that a lane's entries of a row of A name.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // Iterators over arrays leave registers for local memory.
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub(super) fn each_row_of_b<O: Offset>(
    a: Matrix<u32, O>,
    b: Matrix<u32, O>,
    own: Entries,
    lane: u32,
    lanes_log2: u32,
    mut visit: impl FnMut(Entries),
) {
    let mut place = lane;
    while place < own.len {
        let mut entries = [Entries::NONE; IN_FLIGHT];
        for at in 0..IN_FLIGHT {
            let place = place + ((at as u32) << lanes_log2);
            let column = a.column_if(own, place, place < own.len);
            entries[at] = b.entries_if(column, place < own.len);
        }
        for at in 0..IN_FLIGHT {
            visit(entries[at]);
        }
        place += (IN_FLIGHT as u32) << lanes_log2;
    }
}

/// Entries of A that a warp of [`SpgemmLongRowWork`] takes at a time: what its lanes have on their way at once.
const PIECE: u32 = IN_FLIGHT as u32 * thread::WARP_SIZE;

kernel! {
    /// What [`SpgemmRowWork`] says, for the rows that it listed: all warps take pieces of each.
    pub struct SpgemmLongRowWork<O: Offset> {
        /// Row offsets of A.
        pub a_row_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Column indices of B.
        pub b_columns: Global<u32>,
        /// Output: products of each row; 0 before, for those that are listed.
        pub products: GlobalMut<u64>,
        /// Output: first column of each row; 2³² − 1 before.
        pub firsts: GlobalMut<u32>,
        /// Output: last column of each row; 0 before.
        pub lasts: GlobalMut<u32>,
        /// How many rows are listed, and these.
        pub long_rows: Global<u32>,
        /// Blocks.
        pub blocks: u32,
    }
    shared: 0;
    body: SpgemmLongRowWork::long_row_work::<BLOCK>;
    entries: {
        spgemm_long_row_work_u32 in spgemm_plan: <O = u32>, 256 x 1;
        spgemm_long_row_work_u64 in spgemm_plan: <O = u64>, 256 x 1;
    }
}

impl<O: Offset> SpgemmLongRowWork<O> {
    #[inline(always)]
    fn long_row_work<const BLOCK: usize>(self, _: Arena) {
        let a = Matrix { row_offsets: self.a_row_offsets, columns: self.a_columns, values: self.a_columns };
        let b = Matrix { row_offsets: self.b_row_offsets, columns: self.b_columns, values: self.b_columns };
        let block_warps = BLOCK as u32 / thread::WARP_SIZE;
        let (own_warp, warps) = (thread::block() * block_warps + thread::warp(), self.blocks * block_warps);
        let listed = self.long_rows.load(0);
        // Pieces go round the warps, those of a row after those of the one before.
        let (mut at, mut first_warp) = (0, 0);
        while at < listed {
            let row = self.long_rows.load(1 + at as usize);
            let entries = a.entries_if(row, true);
            let pieces = entries.len.div_ceil(PIECE);
            let mut piece =
                if own_warp < first_warp { own_warp + warps - first_warp } else { own_warp - first_warp };
            while piece < pieces {
                let left = entries.len - piece * PIECE;
                let len = if left < PIECE { left } else { PIECE };
                let begin = entries.begin + piece as usize * PIECE as usize;
                let (count, first, last) = warp_work(a, b, Entries { begin, len });
                if thread::lane() == 0 && count > 0 {
                    self.products.fetch_add(row as usize, count, Ordering::Relaxed, Scope::Device);
                    self.firsts.fetch_min(row as usize, first, Ordering::Relaxed, Scope::Device);
                    self.lasts.fetch_max(row as usize, last, Ordering::Relaxed, Scope::Device);
                }
                piece += warps;
            }
            first_warp = (first_warp + pieces) % warps;
            at += 1;
        }
    }
}

kernel! {
    /// What [`SpgemmRowWork`] says, for the entries of C that a pattern has: its length and columns. One thread a row.
    pub struct SpgemmMaskWork<O: Offset> {
        /// Row offsets of the pattern, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Its columns.
        pub columns: Global<u32>,
        /// Output: entries of each row.
        pub lengths: GlobalMut<u64>,
        /// Output: first column of each row.
        pub firsts: GlobalMut<u32>,
        /// Output: last column of each row.
        pub lasts: GlobalMut<u32>,
        /// Rows.
        pub rows: u32,
    }
    shared: 0;
    body: SpgemmMaskWork::mask_work::<BLOCK>;
    entries: {
        spgemm_mask_work_u32 in spgemm_plan: <O = u32>, 256 x 1;
        spgemm_mask_work_u64 in spgemm_plan: <O = u64>, 256 x 1;
    }
}

impl<O: Offset> SpgemmMaskWork<O> {
    #[inline(always)]
    fn mask_work<const BLOCK: usize>(self, _: Arena) {
        let row = thread::block() * BLOCK as u32 + thread::index();
        if row >= self.rows {
            return;
        }
        let mask = Matrix { row_offsets: self.row_offsets, columns: self.columns, values: self.columns };
        let own = mask.entries_if(row, true);
        self.lengths.store(row as usize, u64::from(own.len));
        let (mut first, mut last) = (u32::MAX, 0);
        if own.len > 0 {
            first = mask.column_if(own, 0, true);
            last = mask.column_if(own, own.len - 1, true);
        }
        self.firsts.store(row as usize, first);
        self.lasts.store(row as usize, last);
    }
}
