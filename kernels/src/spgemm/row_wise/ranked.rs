//! The destinations of the products of long rows of C, found once for repeated products with new values.
//!
//! A row of C is cut into *parts* of as many entries as a warp has room to sum. For each product, in the order of A's entries
//! and B's rows, its *destination* is kept: the entry of its part that it is added to. For each entry of A, the places are kept
//! where the parts cut the row of B. New values then need neither columns nor searches, and no warp waits for another.

use evenpath_simt::{device, kernel, parameters, thread, warp, Arena, Global, GlobalMut, Shared};

use super::bitmap::Bitmap;
use super::entries::RowEntries;
use super::rows::{each, ResultPattern, RowList};
use super::spans::{Spans, Windows};
use super::stage::lower_bound;
use super::work::each_row_of_b;
use crate::block::count_scan::CountScan;
use crate::block::strided::each_loaded;
use crate::{GlobalPattern, Offset};

/// Bytes of the sums of a part.
const PART_BYTES: usize = 8192;

/// Entries of C per part, for values of `value_bytes`; a power of two that 16-bit destinations can count.
pub const fn part_len(value_bytes: usize) -> u32 {
    (PART_BYTES / value_bytes) as u32
}

kernel! {
    /// Counts the products, parts and cuts of rows of C: one warp per row.
    pub struct SpgemmPartWork<O: Offset> {
        /// A.
        pub a: GlobalPattern<O>,
        /// B.
        pub b: GlobalPattern<O>,
        /// Row offsets of C.
        pub c_row_offsets: Global<u64>,
        /// The rows.
        pub rows: RowList,
        /// Output: the number of products of each of the rows.
        pub products: GlobalMut<u64>,
        /// Output: the number of parts of each of the rows.
        pub parts: GlobalMut<u64>,
        /// Output: the number of places where parts cut rows of B, for each of the rows.
        pub cuts: GlobalMut<u64>,
        /// Entries per part.
        pub part_len: u32,
    }
    shared: 0;
    body: SpgemmPartWork::part_work::<BLOCK>;
    entry: spgemm_part_work_{O} in spgemm_ranks: O in [u32, u64], 256 x 1;
}

impl<O: Offset> SpgemmPartWork<O> {
    #[device]
    fn part_work<const BLOCK: usize>(self, _: Arena) {
        let Self { a, b, rows, .. } = self;
        let index = thread::block() * (BLOCK as u32 / thread::WARP_SIZE) + thread::warp();
        let is_row = index < rows.len;
        let row = rows.nth(index, is_row);
        let own = a.entries_if(row, is_row);
        let mut count = 0_u64;
        each_row_of_b(a, b, own, thread::lane(), thread::WARP_SIZE.ilog2(), |entries| {
            count += u64::from(entries.len);
        });
        let count = warp::reduce_add(count);
        if is_row && thread::lane() == 0 {
            let len = self.c_row_offsets.load(row as usize + 1) - self.c_row_offsets.load(row as usize);
            let row_parts = len.div_ceil(u64::from(self.part_len));
            self.products.store(index as usize, count);
            self.parts.store(index as usize, row_parts);
            self.cuts.store(index as usize, row_parts.saturating_sub(1) * u64::from(own.len));
        }
    }
}

/// Bytes of shared memory of a block of [`SpgemmRankProducts`], for windows of `packets` packets.
pub const fn rank_shared_bytes(block: u32, packets: u32) -> u32 {
    // Padding for arrays of 8-byte elements after one of 4-byte elements.
    Bitmap::bytes(packets) + block / thread::WARP_SIZE * (4 + 8) + block * (8 + 8 + 4) + 8
}

parameters! {
    /// The sums before each of some rows, and all at the end.
    pub struct RowParts {
        /// Products before each row.
        pub first_products: Global<u64>,
        /// Parts before each row.
        pub first_parts: Global<u64>,
        /// Cuts before each row.
        pub first_cuts: Global<u64>,
    }
}

kernel! {
    /// Ranks products: finds the destination of each, and the row of each part. One block per row.
    pub struct SpgemmRankProducts<O: Offset> {
        /// A.
        pub a: GlobalPattern<O>,
        /// B, whose columns ascend within rows.
        pub b: GlobalPattern<O>,
        /// C.
        pub c: ResultPattern,
        /// The rows.
        pub rows: RowList,
        /// The columns that each row of C spans.
        pub spans: Spans,
        /// Products and parts before each of the rows.
        pub before: RowParts,
        /// Output: the destination of each product.
        pub destinations: GlobalMut<u16>,
        /// Output: the index of each part's row among the rows.
        pub part_rows: GlobalMut<u32>,
        /// The index of the first block's row among the rows.
        pub first_row: u32,
        /// Entries per part, a power of two.
        pub part_len: u32,
        /// Columns of a window, in units of [`WINDOW_COLUMNS`](super::WINDOW_COLUMNS).
        pub packets: u32,
    }
    shared: 0;
    body: SpgemmRankProducts::rank_products::<BLOCK>;
    entry: spgemm_rank_products_{O}_{B} in spgemm_ranks: (B, R) in [(128, 10), (512, 2)], O in [u32, u64], B x 1 resident R;
}

impl<O: Offset> SpgemmRankProducts<O> {
    #[device]
    fn rank_products<const BLOCK: usize>(self, _: Arena) {
        // 1. Lay out shared memory, and find the block's row.
        let Self { a, b, c, before: RowParts { first_products, first_parts, .. }, .. } = self;
        let mut arena = Arena::dynamic(rank_shared_bytes(BLOCK as u32, self.packets));
        let bitmap = Bitmap::take(&mut arena, self.packets);
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let products = Products::<BLOCK>::take(&mut arena);
        let index = (self.first_row + thread::block()) as usize;
        let row = self.rows.nth(index as u32, true);
        let own = a.entries_if(row, true);
        let c_row = c.row_if(row, true);

        let destinations = self.destinations.skip(first_products.load(index) as usize);
        let mut before = 0;
        let mut windows = Windows::of_row(self.spans, row, self.packets);
        while let Some(window) = windows.next() {
            // 2. Mark the window's columns, and rank them.
            let bitmap = bitmap.window(window.start, window.len);
            bitmap.clear::<BLOCK>();
            thread::barrier();
            let count = if c.is_known != 0 {
                c_row.mark::<BLOCK>(window, bitmap);
                bitmap.rank(scan, |_, _| {})
            } else {
                products.each(a, b, own, |_, column| {
                    if window.has(column) {
                        bitmap.set(column);
                    }
                });
                bitmap.rank(scan, |place, column| c_row.columns.store((before + place) as usize, column))
            };
            thread::barrier();
            // 3. Store the destinations of the products in the window.
            products.each(a, b, own, |product, column| {
                if window.has(column) {
                    let place = before + bitmap.place(column).0;
                    destinations.store_streaming(product, (place & (self.part_len - 1)) as u16);
                }
            });
            before += count;
            // The next window clears the bits.
            thread::barrier();
        }

        // 4. Store the row of each part.
        let first_part = first_parts.load(index) as usize;
        let parts = (first_parts.load(index + 1) - first_parts.load(index)) as u32;
        each::<BLOCK>(parts, |part| self.part_rows.store(first_part + part as usize, index as u32));
    }
}

kernel! {
    /// Finds where parts cut the rows of B: one block per part.
    pub struct SpgemmCutByParts<O: Offset> {
        /// A.
        pub a: GlobalPattern<O>,
        /// B, whose columns ascend within rows.
        pub b: GlobalPattern<O>,
        /// C, with its columns.
        pub c: ResultPattern,
        /// The rows.
        pub rows: RowList,
        /// Parts and cuts before each of the rows.
        pub before: RowParts,
        /// The index of each part's row among the rows.
        pub part_rows: Global<u32>,
        /// Output: for each part except a row's last, and for each entry of A, the number of entries of the row of B that are
        /// before the part's end.
        pub cuts: GlobalMut<u32>,
        /// Entries per part.
        pub part_len: u32,
    }
    shared: 0;
    body: SpgemmCutByParts::cut_by_parts::<BLOCK>;
    entry: spgemm_cut_by_parts_{O} in spgemm_ranks: O in [u32, u64], 128 x 1;
}

impl<O: Offset> SpgemmCutByParts<O> {
    #[device]
    fn cut_by_parts<const BLOCK: usize>(self, _: Arena) {
        let Self { a, b, c, before: RowParts { first_parts, first_cuts, .. }, .. } = self;
        let index = self.part_rows.load(thread::block() as usize);
        let part = thread::block() - first_parts.load(index as usize) as u32;
        if u64::from(thread::block()) + 1 == first_parts.load(index as usize + 1) {
            return;
        }
        let row = self.rows.nth(index, true);
        let own = a.entries_if(row, true);
        let end = c.row_offsets.load(row as usize) as usize + (part as usize + 1) * self.part_len as usize;
        let bound = c.column_indices.load(end);
        let first_cut = first_cuts.load(index as usize) as usize + part as usize * own.len as usize;
        let cuts = self.cuts.skip(first_cut);
        each::<BLOCK>(own.len, |place| {
            let entries = b.entries_if(a.column_if(own, place, true), true);
            cuts.store(place as usize, lower_bound(b, entries, bound));
        });
    }
}

/// Columns that a lane has in flight.
const IN_FLIGHT: usize = 4;

/// Entries of A, one per thread, in shared memory.
#[derive(Clone, Copy)]
struct Products<const BLOCK: usize> {
    scan: CountScan<u64, BLOCK>,
    /// The number of each entry's first product among those of the row of C.
    firsts: Shared<u64>,
    /// The first nonzero of the row of B.
    begins: Shared<u64>,
    lens: Shared<u32>,
}

impl<const BLOCK: usize> Products<BLOCK> {
    #[device(track_caller)]
    fn take(arena: &mut Arena) -> Self {
        Self {
            scan: CountScan::take(arena),
            firsts: arena.take(BLOCK),
            begins: arena.take(BLOCK),
            lens: arena.take(BLOCK),
        }
    }

    /// Calls `visit` with the number of each product of a row of C, in the order of A's entries and B's rows, and its column.
    /// Called by every thread; it has barriers, and ends with one.
    #[device(track_caller)]
    fn each<O: Offset>(
        self,
        a: GlobalPattern<O>,
        b: GlobalPattern<O>,
        own: RowEntries,
        mut visit: impl FnMut(usize, u32),
    ) {
        let mut products = 0;
        let mut first = 0;
        while first < own.len {
            let place = first + thread::index();
            let entries = b.entries_if(a.column_if(own, place, place < own.len), place < own.len);
            let counted = self.scan.exclusive(u64::from(entries.len));
            let thread = thread::index() as usize;
            self.firsts.store(thread, products + counted.before);
            self.begins.store(thread, entries.begin as u64);
            self.lens.store(thread, entries.len);
            thread::barrier();
            let staged = (own.len - first).min(BLOCK as u32);
            let mut entry = thread::warp();
            while entry < staged {
                let product = self.firsts.load(entry as usize) as usize;
                let begin = self.begins.load(entry as usize) as usize;
                let columns = b.column_indices.skip(begin);
                each_loaded::<u32, IN_FLIGHT>(
                    (thread::lane(), thread::WARP_SIZE, self.lens.load(entry as usize)),
                    |place, is_column| columns.load_if(place, is_column),
                    |place, column| visit(product + place as usize, column),
                );
                entry += BLOCK as u32 / thread::WARP_SIZE;
            }
            products += counted.total;
            first += BLOCK as u32;
            // The next round overwrites the memory.
            thread::barrier();
        }
    }
}
