//! The work of the rows of C: the number of their products, and the span of their columns.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Global, GlobalMut};

use super::entries::RowEntries;
use super::rows::RowWork;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Counts the products of each row of C, and finds the first and last column that rows with more than `short` products can
    /// have: `1 << lanes_log2` lanes per row. In rows without a span the first column is above the last. Rows of A with more
    /// than `longest` entries are treated as empty, and listed for [`SpgemmLongRowWork`].
    pub struct SpgemmRowWork<O: Offset> {
        /// A.
        pub a: GlobalPattern<O>,
        /// B, whose columns ascend within rows.
        pub b: GlobalPattern<O>,
        /// Output: the work of each row.
        pub work: RowWork,
        /// Output: the number of listed rows, zero before; then these rows, in any order.
        pub long_rows: GlobalMut<u32>,
        /// The largest number of entries of a row that is not listed.
        pub longest: u32,
        /// The largest number of products of a row whose span does not matter.
        pub short: u32,
        /// log2 of the lanes per row, at most 5.
        pub lanes_log2: u32,
    }
    shared: 0;
    body: SpgemmRowWork::row_work::<BLOCK>;
    entry: spgemm_row_work_{O} in spgemm_plan: O in [u32, u64], 256 x 1;
}

/// Entries of A that a lane has in flight.
const IN_FLIGHT: usize = 4;

/// Entries per lane of a row of A beyond which the whole warp takes it.
const LONG: u32 = 32;

impl<O: Offset> SpgemmRowWork<O> {
    #[device]
    fn row_work<const BLOCK: usize>(self, _: Arena) {
        let Self { a, b, .. } = self;
        // 1. Load the group's row of A; list it if it is too long.
        let row = thread::block() * (BLOCK as u32 >> self.lanes_log2) + (thread::index() >> self.lanes_log2);
        let lane = thread::index() & ((1 << self.lanes_log2) - 1);
        let mut own = a.entries_if(row, row < a.rows);
        if own.len > self.longest {
            if lane == 0 {
                let place = self.long_rows.fetch_add(0, 1, Ordering::Relaxed, Scope::Device);
                self.long_rows.store(1 + place as usize, row);
            }
            own = RowEntries::NONE;
        }
        // 2. Count the products of rows that are not long, and find their spans.
        let is_long = own.len > LONG << self.lanes_log2;
        let (mut count, mut first, mut last) = (0_u64, u32::MAX, 0);
        if !is_long {
            each_row_of_b(a, b, own, lane, self.lanes_log2, |entries| count += u64::from(entries.len));
        }
        let lanes = 1 << self.lanes_log2;
        count = warp::reduce_groups(count, lanes, |a, b| a + b);
        if count > u64::from(self.short) {
            each_row_of_b(a, b, own, lane, self.lanes_log2, |entries| {
                widen(b, entries, &mut first, &mut last);
            });
        }
        first = warp::reduce_groups(first, lanes, u32::min);
        last = warp::reduce_groups(last, lanes, u32::max);
        // 3. Do the same for long rows, one after the other, with the whole warp.
        each_long_row(own, is_long && lane == 0, |source, entries| {
            let (all, least, greatest) = warp_work(a, b, entries);
            if thread::lane() == source {
                (count, first, last) = (all, least, greatest);
            }
        });
        if row < a.rows && lane == 0 {
            self.work.store(row, count, first, last);
        }
        self.work.end(a.rows);
    }
}

/// Calls `visit` with the lane and the entries of each row that a lane wants the whole warp to take, one after the other. The lanes
/// of a warp call it together.
#[device(track_caller)]
pub(in crate::spgemm) fn each_long_row(
    own: RowEntries,
    is_wanted: bool,
    mut visit: impl FnMut(u32, RowEntries),
) {
    let mut left = warp::ballot(warp::FULL, is_wanted);
    while left != 0 {
        let source = left.trailing_zeros();
        let entries = RowEntries {
            begin: warp::shuffle(warp::FULL, own.begin as u64, source) as usize,
            len: warp::shuffle(warp::FULL, own.len, source),
        };
        visit(source, entries);
        left &= left - 1;
    }
}

/// Returns the number of products of some entries of a row of A, and the first and last column of the rows of B that
/// they name; computed by a warp.
#[device(track_caller)]
fn warp_work<O: Offset>(a: GlobalPattern<O>, b: GlobalPattern<O>, entries: RowEntries) -> (u64, u32, u32) {
    let (mut all, mut least, mut greatest) = (0_u64, u32::MAX, 0);
    each_row_of_b(a, b, entries, thread::lane(), thread::WARP_SIZE.ilog2(), |entries| {
        all += u64::from(entries.len);
        widen(b, entries, &mut least, &mut greatest);
    });
    (warp::reduce_add(all), warp::reduce(least, u32::min), warp::reduce(greatest, u32::max))
}

/// Widens a span of columns by a row of B.
#[device(track_caller)]
fn widen<O: Offset>(b: GlobalPattern<O>, entries: RowEntries, first: &mut u32, last: &mut u32) {
    if entries.len > 0 {
        *first = (*first).min(b.column_if(entries, 0, true));
        *last = (*last).max(b.column_if(entries, entries.len - 1, true));
    }
}

/// Calls `visit` with the rows of B that a lane's entries of a row of A name, and with empty rows.
#[device(track_caller)]
pub(in crate::spgemm) fn each_row_of_b<O: Offset>(
    a: GlobalPattern<O>,
    b: GlobalPattern<O>,
    own: RowEntries,
    lane: u32,
    lanes_log2: u32,
    mut visit: impl FnMut(RowEntries),
) {
    let mut place = lane;
    while place < own.len {
        let mut entries = [RowEntries::NONE; IN_FLIGHT];
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

/// Entries of A that a warp of [`SpgemmLongRowWork`] takes at a time: as many as its lanes have in flight.
const PIECE: u32 = IN_FLIGHT as u32 * thread::WARP_SIZE;

kernel! {
    /// The same as [`SpgemmRowWork`], for the rows that it listed: all warps take pieces of each.
    pub struct SpgemmLongRowWork<O: Offset> {
        /// A.
        pub a: GlobalPattern<O>,
        /// B, whose columns ascend within rows.
        pub b: GlobalPattern<O>,
        /// Output: the work of each row. Listed rows have no products, first column 2³² − 1 and last column 0 before.
        pub work: RowWork,
        /// The number of listed rows, and these rows.
        pub long_rows: Global<u32>,
        /// The number of blocks.
        pub blocks: u32,
    }
    shared: 0;
    body: SpgemmLongRowWork::long_row_work::<BLOCK>;
    entry: spgemm_long_row_work_{O} in spgemm_plan: O in [u32, u64], 256 x 1;
}

impl<O: Offset> SpgemmLongRowWork<O> {
    #[device]
    fn long_row_work<const BLOCK: usize>(self, _: Arena) {
        let Self { a, b, .. } = self;
        let block_warps = BLOCK as u32 / thread::WARP_SIZE;
        let (own_warp, warps) = (thread::block() * block_warps + thread::warp(), self.blocks * block_warps);
        let listed = self.long_rows.load(0);
        // Each lane finds a row. Their pieces are dealt to the warps in turn, each row continuing after the previous one.
        let (mut at, mut first_warp) = (0, 0);
        while at < listed {
            let is_row = at + thread::lane() < listed;
            let row = self.long_rows.load_if((1 + at + thread::lane()) as usize, is_row);
            let entries = a.entries_if(row, is_row);
            let own_pieces = entries.len.div_ceil(PIECE);
            let behind = warp::inclusive_sum(own_pieces);
            let pieces = warp::shuffle(warp::FULL, behind, thread::WARP_SIZE - 1);
            let mut piece =
                if own_warp < first_warp { own_warp + warps - first_warp } else { own_warp - first_warp };
            while piece < pieces {
                let source = warp::ballot(warp::FULL, behind <= piece).count_ones();
                let of_row = piece - warp::shuffle(warp::FULL, behind - own_pieces, source);
                let len = warp::shuffle(warp::FULL, entries.len, source) - of_row * PIECE;
                let len = if len < PIECE { len } else { PIECE };
                let begin = warp::shuffle(warp::FULL, entries.begin as u64, source) as usize;
                let begin = begin + of_row as usize * PIECE as usize;
                self.add(warp::shuffle(warp::FULL, row, source), warp_work(a, b, RowEntries { begin, len }));
                piece += warps;
            }
            first_warp = (first_warp + pieces) % warps;
            at += thread::WARP_SIZE;
        }
    }

    /// Adds the work of a warp's piece to that of its row.
    #[device(track_caller)]
    fn add(self, row: u32, (count, first, last): (u64, u32, u32)) {
        if thread::lane() == 0 && count > 0 {
            let RowWork { products, firsts, lasts } = self.work;
            products.fetch_add(row as usize, count, Ordering::Relaxed, Scope::Device);
            firsts.fetch_min(row as usize, first, Ordering::Relaxed, Scope::Device);
            lasts.fetch_max(row as usize, last, Ordering::Relaxed, Scope::Device);
        }
    }
}
