//! Long rows, cut into pieces, one warp per piece.
//!
//! The long rows are listed once, and their pieces are numbered. The sums of a row's pieces are added up, in order, by
//! the warp of the row that finishes last.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, parameters, thread, warp, Arena, Arithmetic, Global, GlobalMut};

use super::product::SpmvArguments;
use crate::block::tagged_sums::TaggedWords;
use crate::{GlobalPattern, Offset};

/// Nonzeros of a piece of a row of `len`: enough to be worth a warp, and enough that no row has more than 2048 pieces.
pub(super) const fn piece_len(len: u64) -> u64 {
    let len = (len / 2048 + 8) / 8 * 8;
    if len < 1024 {
        1024
    } else {
        len
    }
}

/// Pieces of a row of `len` nonzeros.
pub(super) const fn piece_count(len: u64) -> u64 {
    len.div_ceil(piece_len(len))
}

kernel! {
    /// Lists the rows with more than `limit` nonzeros, in any order, and numbers their pieces: one thread per row.
    pub struct ListLongRows<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// Output: the rows.
        pub long_rows: GlobalMut<u32>,
        /// Output: the number of each one's first piece.
        pub first_pieces: GlobalMut<u32>,
        /// One word, zero before: how many rows are listed, shifted left by 32, and how many pieces.
        pub listed: GlobalMut<u64>,
        /// The most nonzeros of a row that is not long.
        pub limit: u32,
    }
    shared: 0;
    body: ListLongRows::list_long_rows::<BLOCK>;
    entry: spmv_list_long_rows_{O} in spmv_plan: O in [u32, u64], 256 x 1;
}

impl<O: Offset> ListLongRows<O> {
    #[device]
    fn list_long_rows<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        let mut pieces = 0;
        if row < self.pattern.rows as usize {
            let len = self.pattern.row_len(row);
            if len > u64::from(self.limit) {
                pieces = piece_count(len);
            }
        }
        if !warp::any(warp::FULL, pieces > 0) {
            return;
        }
        let own = if pieces > 0 { (1 << 32) | pieces } else { 0 };
        let inclusive: u64 = warp::inclusive_sum(own);
        let mut before = 0;
        if thread::lane() == 31 {
            before = self.listed.fetch_add(0, inclusive, Ordering::Relaxed, Scope::Device);
        }
        before = warp::shuffle(warp::FULL, before, 31) + inclusive - own;
        if pieces > 0 {
            self.long_rows.store((before >> 32) as usize, row as u32);
            self.first_pieces.store((before >> 32) as usize, before as u32);
        }
    }
}

kernel! {
    /// Writes for each piece the place of its row in the list: one warp per row.
    pub struct NumberPieces<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// The long rows, from [`ListLongRows`].
        pub long_rows: Global<u32>,
        /// The number of each one's first piece.
        pub first_pieces: Global<u32>,
        /// Output: the place in the list of each piece's row.
        pub piece_rows: GlobalMut<u32>,
        /// Long rows.
        pub count: u32,
    }
    shared: 0;
    body: NumberPieces::number_pieces::<BLOCK>;
    entry: spmv_number_pieces_{O} in spmv_plan: O in [u32, u64], 256 x 1;
}

impl<O: Offset> NumberPieces<O> {
    #[device]
    fn number_pieces<const BLOCK: usize>(self, _: Arena) {
        let place = thread::global_warp::<BLOCK>();
        if place >= self.count as usize {
            return;
        }
        let row = self.long_rows.load(place) as usize;
        let len = self.pattern.row_len(row);
        let first = self.first_pieces.load(place) as usize;
        let mut piece = thread::lane();
        while u64::from(piece) < piece_count(len) {
            self.piece_rows.store(first + piece as usize, place as u32);
            piece += thread::WARP_SIZE;
        }
    }
}

parameters! {
    /// The long rows of a matrix, and the memory in which the sums of their pieces meet.
    pub struct LongRows {
        /// The rows, from [`ListLongRows`].
        pub rows: Global<u32>,
        /// The number of each row's first piece, likewise.
        pub first_pieces: Global<u32>,
        /// The place in the list of each piece's row, from [`NumberPieces`].
        pub piece_rows: Global<u32>,
        /// One part per piece, one sum per row.
        pub sums: TaggedWords,
        /// Pieces of all rows.
        pub pieces: u32,
        /// The most nonzeros of a row that is not long.
        pub limit: u32,
    }
}

impl LongRows {
    /// Sums a piece. If it is the last of its row to arrive, sums the row and stores it. Every lane of the warp calls it.
    #[device]
    pub(super) fn sum_piece<V: Arithmetic, O: Offset, const ITEMS: usize>(
        self,
        product: SpmvArguments<V, O>,
        piece: u32,
    ) {
        let sums = self.sums.sums::<V>();
        let place = self.piece_rows.load(piece as usize) as usize;
        let row = self.rows.load(place);
        let first_piece = self.first_pieces.load(place);
        let (begin, end) = product.matrix.pattern().row_bounds(row as usize);
        let len = (end - begin) as u64;
        let start = u64::from(piece - first_piece) * piece_len(len);
        let left = len - start;
        let count = if left < piece_len(len) { left } else { piece_len(len) };
        let sum = sum_products::<V, O, ITEMS>(product, begin + start as usize, count as u32);
        let pieces = piece_count(len) as u32;
        if pieces == 1 {
            if thread::lane() == 0 {
                product.update.store(row as usize, sum);
            }
            return;
        }
        let mut is_last = false;
        if thread::lane() == 0 {
            is_last = sums.leave(piece as usize, sum, place, pieces);
        }
        if !warp::any(warp::FULL, is_last) {
            return;
        }
        let mut total = V::ZERO;
        thread::warp_stride(pieces, |other| {
            let place = (first_piece + other) as usize;
            total += sums.part(place, sums.look(place));
        });
        let total = warp::reduce_add(total);
        if thread::lane() == 0 {
            product.update.store(row as usize, total);
        }
    }
}

/// Returns the sum of `count` products starting at `start`, in every lane.
#[device]
fn sum_products<V: Arithmetic, O: Offset, const ITEMS: usize>(
    SpmvArguments { matrix, x, .. }: SpmvArguments<V, O>,
    start: usize,
    count: u32,
) -> V {
    let columns_from = matrix.column_indices.skip(start);
    let values_from = matrix.values.skip(start);
    let mut sum = V::ZERO;
    let mut chunk = thread::lane();
    while chunk < count {
        let inside = |item: usize| chunk + 32 * (item as u32) < count;
        let mut columns = [0_u32; ITEMS];
        let mut terms = [V::ZERO; ITEMS];
        for item in 0..ITEMS {
            if inside(item) {
                columns[item] = columns_from.load_streaming(chunk as usize + 32 * item);
            }
        }
        for item in 0..ITEMS {
            if inside(item) {
                terms[item] = values_from.load_streaming(chunk as usize + 32 * item);
            }
        }
        for item in 0..ITEMS {
            if inside(item) {
                terms[item] = terms[item] * x.load(columns[item] as usize);
            }
        }
        for item in 0..ITEMS {
            sum += terms[item];
        }
        chunk += (32 * ITEMS) as u32;
    }
    warp::reduce_add(sum)
}
