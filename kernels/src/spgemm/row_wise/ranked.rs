//! Where the products of long rows of C go, found once for products with changing values.
//!
//! A row of C is cut into *parts* of as many entries as a warp has room to sum. For each product, in the order of A's
//! entries and B's rows, its *rank* is kept: which entry of its part it goes to; and for each entry of A, where the rows
//! of B are cut by the parts. New values then need neither columns nor a search for them, and no warp waits for another.

// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{kernel, thread, warp, Arena, Global, GlobalMut, Shared};

use super::bitmap::Bitmap;
use super::entries::{nth_row, Entries, Matrix};
use super::stage::{lower_bound, Windows};
use super::work::each_row_of_b;
use crate::block::count_scan::CountScan;
use crate::Offset;

/// Bytes of the sums of a part.
const PART_BYTES: usize = 8192;

/// Entries of C of a part, of values of so many bytes; a power of two, of which ranks of 16 bits are enough.
pub const fn part_len(value_bytes: usize) -> u32 {
    (PART_BYTES / value_bytes) as u32
}

kernel! {
    /// Counts what rows of C keep: a warp a row.
    pub struct SpgemmPartWork<O: Offset> {
        /// Row offsets of A.
        pub a_row_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Row offsets of C.
        pub c_row_offsets: Global<u64>,
        /// The rows, if `listed`.
        pub list: Global<u32>,
        /// Output: products of each of the rows.
        pub products: GlobalMut<u64>,
        /// Output: parts of each of the rows.
        pub parts: GlobalMut<u64>,
        /// Output: places where parts cut rows of B.
        pub cuts: GlobalMut<u64>,
        /// How many rows there are.
        pub rows: u32,
        /// Not zero if `list` has the rows; else they are the first of the matrix.
        pub listed: u32,
        /// Entries of a part.
        pub part_len: u32,
    }
    shared: 0;
    body: SpgemmPartWork::part_work::<BLOCK>;
    entries: {
        spgemm_part_work_u32 in spgemm_ranks: <O = u32>, 256 x 1;
        spgemm_part_work_u64 in spgemm_ranks: <O = u64>, 256 x 1;
    }
}

impl<O: Offset> SpgemmPartWork<O> {
    #[inline(always)]
    fn part_work<const BLOCK: usize>(self, _: Arena) {
        let a = Matrix { row_offsets: self.a_row_offsets, columns: self.a_columns, values: self.a_columns };
        let b = Matrix { row_offsets: self.b_row_offsets, columns: self.a_columns, values: self.a_columns };
        let index = thread::block() * (BLOCK as u32 / thread::WARP_SIZE) + thread::warp();
        let is_row = index < self.rows;
        let row = nth_row(self.list, self.listed, index, is_row);
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

/// Bytes of shared memory of a block of [`SpgemmRankProducts`], for windows of so many packets.
pub const fn rank_shared_bytes(block: u32, packets: u32) -> u32 {
    // Arrays of 8 bytes an element may begin behind one of 4.
    Bitmap::bytes(packets) + block / thread::WARP_SIZE * (4 + 8) + block * (8 + 8 + 4) + 8
}

kernel! {
    /// Finds the ranks of products, and what row each part is of: a block a row.
    pub struct SpgemmRankProducts<O: Offset> {
        /// Row offsets of A.
        pub a_row_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Column indices of B, ascending within rows.
        pub b_columns: Global<u32>,
        /// Row offsets of C.
        pub c_row_offsets: Global<u64>,
        /// Column indices of C: output, unless `known`.
        pub c_columns: GlobalMut<u32>,
        /// The rows, if `listed`.
        pub list: Global<u32>,
        /// First column of each row of C.
        pub firsts: Global<u32>,
        /// Last column of each row of C.
        pub lasts: Global<u32>,
        /// Products before each of the rows.
        pub first_products: Global<u64>,
        /// Parts before each of the rows, and at the end.
        pub first_parts: Global<u64>,
        /// Output: the rank of each product.
        pub ranks: GlobalMut<u16>,
        /// Output: which of the rows each part is of.
        pub part_rows: GlobalMut<u32>,
        /// The row of the first block.
        pub first_row: u32,
        /// Not zero if `list` has the rows; else they are the first of the matrix.
        pub listed: u32,
        /// Not zero if C's columns are given.
        pub known: u32,
        /// Entries of a part, a power of two.
        pub part_len: u32,
        /// Columns of a window, in units of [`WINDOW_COLUMNS`](super::WINDOW_COLUMNS).
        pub packets: u32,
    }
    shared: 0;
    body: SpgemmRankProducts::rank_products::<BLOCK>;
    entries: {
        spgemm_rank_products_u32_128 in spgemm_ranks: <O = u32>, 128 x 1 resident 10;
        spgemm_rank_products_u64_128 in spgemm_ranks: <O = u64>, 128 x 1 resident 10;
        spgemm_rank_products_u32_512 in spgemm_ranks: <O = u32>, 512 x 1 resident 2;
        spgemm_rank_products_u64_512 in spgemm_ranks: <O = u64>, 512 x 1 resident 2;
    }
}

impl<O: Offset> SpgemmRankProducts<O> {
    #[inline(always)]
    fn rank_products<const BLOCK: usize>(self, _: Arena) {
        let Self { c_columns, ranks, .. } = self;
        let a = Matrix { row_offsets: self.a_row_offsets, columns: self.a_columns, values: self.a_columns };
        let b = Matrix { row_offsets: self.b_row_offsets, columns: self.b_columns, values: self.b_columns };
        let mut arena = Arena::dynamic(rank_shared_bytes(BLOCK as u32, self.packets));
        let bitmap = Bitmap::take(&mut arena, self.packets);
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let products = Products::<BLOCK>::take(&mut arena);
        let index = (self.first_row + thread::block()) as usize;
        let row = nth_row(self.list, self.listed, index as u32, true) as usize;
        let own = a.entries_if(row as u32, true);
        let c_begin = self.c_row_offsets.load(row);
        let c_len = (self.c_row_offsets.load(row + 1) - c_begin) as u32;
        let c_columns = c_columns.skip(c_begin as usize);

        let ranks = ranks.skip(self.first_products.load(index) as usize);
        let mut before = 0;
        let mut windows = Windows::new(self.firsts.load(row), self.lasts.load(row), self.packets);
        while let Some(window) = windows.next() {
            let bitmap = bitmap.window(window.start, window.len);
            bitmap.clear::<BLOCK>();
            thread::barrier();
            let count = if self.known != 0 {
                each::<BLOCK>(c_len, |place| {
                    let column = c_columns.load(place as usize);
                    if window.has(column) {
                        bitmap.set(column);
                    }
                });
                bitmap.rank(scan, |_, _| {})
            } else {
                products.each(a, b, own, |_, column| {
                    if window.has(column) {
                        bitmap.set(column);
                    }
                });
                bitmap.rank(scan, |rank, column| c_columns.store((before + rank) as usize, column))
            };
            thread::barrier();
            products.each(a, b, own, |product, column| {
                if window.has(column) {
                    let rank = before + bitmap.place(column).0;
                    ranks.store_streaming(product, (rank & (self.part_len - 1)) as u16);
                }
            });
            before += count;
            // The next window's bits are cleared.
            thread::barrier();
        }

        let first_part = self.first_parts.load(index) as usize;
        let parts = (self.first_parts.load(index + 1) - self.first_parts.load(index)) as u32;
        each::<BLOCK>(parts, |part| self.part_rows.store(first_part + part as usize, index as u32));
    }
}

kernel! {
    /// Finds where parts cut the rows of B: a block a part.
    pub struct SpgemmCutByParts<O: Offset> {
        /// Row offsets of A.
        pub a_row_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Column indices of B, ascending within rows.
        pub b_columns: Global<u32>,
        /// Row offsets of C.
        pub c_row_offsets: Global<u64>,
        /// Column indices of C.
        pub c_columns: GlobalMut<u32>,
        /// The rows, if `listed`.
        pub list: Global<u32>,
        /// Parts before each of the rows, and at the end.
        pub first_parts: Global<u64>,
        /// Cuts before each of the rows.
        pub first_cuts: Global<u64>,
        /// Which of the rows each part is of.
        pub part_rows: Global<u32>,
        /// Output: for each part but a row's last, and within it for each entry of A, the nonzeros of the row of B that
        /// are before the part's end.
        pub cuts: GlobalMut<u32>,
        /// Not zero if `list` has the rows; else they are the first of the matrix.
        pub listed: u32,
        /// Entries of a part.
        pub part_len: u32,
    }
    shared: 0;
    body: SpgemmCutByParts::cut_by_parts::<BLOCK>;
    entries: {
        spgemm_cut_by_parts_u32 in spgemm_ranks: <O = u32>, 128 x 1;
        spgemm_cut_by_parts_u64 in spgemm_ranks: <O = u64>, 128 x 1;
    }
}

impl<O: Offset> SpgemmCutByParts<O> {
    #[inline(always)]
    fn cut_by_parts<const BLOCK: usize>(self, _: Arena) {
        let Self { cuts, .. } = self;
        let index = self.part_rows.load(thread::block() as usize);
        let part = thread::block() - self.first_parts.load(index as usize) as u32;
        if u64::from(thread::block()) + 1 == self.first_parts.load(index as usize + 1) {
            return;
        }
        let a = Matrix { row_offsets: self.a_row_offsets, columns: self.a_columns, values: self.a_columns };
        let b = Matrix { row_offsets: self.b_row_offsets, columns: self.b_columns, values: self.b_columns };
        let row = nth_row(self.list, self.listed, index, true);
        let own = a.entries_if(row, true);
        let end =
            self.c_row_offsets.load(row as usize) as usize + (part as usize + 1) * self.part_len as usize;
        let bound = self.c_columns.load(end);
        let cuts =
            cuts.skip(self.first_cuts.load(index as usize) as usize + part as usize * own.len as usize);
        each::<BLOCK>(own.len, |place| {
            let entries = b.entries_if(a.column_if(own, place, true), true);
            cuts.store(place as usize, lower_bound(b, entries, bound));
        });
    }
}

/// Columns that a lane has on their way at once.
const IN_FLIGHT: usize = 4;

/// Entries of A, one a thread, in shared memory.
#[derive(Clone, Copy)]
struct Products<const BLOCK: usize> {
    scan: CountScan<u64, BLOCK>,
    /// The first product of each, among those of the row of C.
    firsts: Shared<u64>,
    /// The first nonzero of the row of B.
    begins: Shared<u64>,
    lens: Shared<u32>,
}

impl<const BLOCK: usize> Products<BLOCK> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn take(arena: &mut Arena) -> Self {
        Self {
            scan: CountScan::take(arena),
            firsts: arena.take(BLOCK),
            begins: arena.take(BLOCK),
            lens: arena.take(BLOCK),
        }
    }

    /// Calls `visit` with the number of each product of a row of C, in the order of A's entries and B's rows, and its
    /// column. Every thread; has barriers, one at the end.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn each<O: Offset>(
        self,
        a: Matrix<u32, O>,
        b: Matrix<u32, O>,
        own: Entries,
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
                each_column(b.columns.skip(begin), self.lens.load(entry as usize), |place, column| {
                    visit(product + place as usize, column);
                });
                entry += BLOCK as u32 / thread::WARP_SIZE;
            }
            products += counted.total;
            first += BLOCK as u32;
            // The memory is used again.
            thread::barrier();
        }
    }
}

/// Calls `visit` with place and column of the first `len` columns, over the lanes of a warp.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn each_column(columns: Global<u32>, len: u32, mut visit: impl FnMut(u32, u32)) {
    let mut first = thread::lane();
    while first < len {
        let mut column = [0; IN_FLIGHT];
        for at in 0..IN_FLIGHT {
            let place = first + at as u32 * thread::WARP_SIZE;
            column[at] = columns.load_if(place as usize, place < len);
        }
        for at in 0..IN_FLIGHT {
            let place = first + at as u32 * thread::WARP_SIZE;
            if place < len {
                visit(place, column[at]);
            }
        }
        first += IN_FLIGHT as u32 * thread::WARP_SIZE;
    }
}

/// Calls `visit` for 0 to `len` − 1, each in one thread of the block.
#[inline(always)]
pub(super) fn each<const BLOCK: usize>(len: u32, mut visit: impl FnMut(u32)) {
    let mut place = thread::index();
    while place < len {
        visit(place);
        place += BLOCK as u32;
    }
}
