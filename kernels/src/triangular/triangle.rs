//! The entries of a matrix's triangle, and their rows in the order of levels.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, parameters, thread, warp, Arena, Element, Global, GlobalMut};

use crate::block::search::partition_point;
use crate::unroll::unroll;
use crate::{GlobalPattern, Offset};

/// Word of [`FindTriangle::found`] with the first row that has no entry on the diagonal.
const MISSING_WORD: usize = 0;
/// Word of [`FindTriangle::found`] with the number of entries of the triangle.
const COUNT_WORD: usize = 1;
/// The first word of [`FindTriangle::found`] with a number of pieces of long rows.
const PIECES_WORD: usize = 2;

/// Entries of a piece for each lane, unless there are many lanes.
const PIECE_OF_LANE: u32 = 32;
/// Minimum number of lanes for the longest pieces.
const MANY_LANES: u32 = 8;
/// Number of different lengths of pieces.
const PIECE_LENS: usize = MANY_LANES.ilog2() as usize + 1;

/// Words of [`FindTriangle::found`].
pub const FOUND_WORDS: usize = PIECES_WORD + PIECE_LENS;

/// Returns the index of the word of [`FindTriangle::found`] that counts pieces for units of `lanes` lanes.
pub fn pieces_word(lanes: u32) -> usize {
    PIECES_WORD + lanes.min(MANY_LANES).ilog2() as usize
}

/// Returns the number of entries of a piece of `lanes` lanes; the last piece of a row may have fewer.
#[device]
pub fn piece_len(lanes: u32) -> u32 {
    PIECE_OF_LANE * lanes.min(MANY_LANES)
}

/// Returns the number of pieces of a row of `len` entries, or zero if the row is not cut.
#[device]
pub fn pieces_of(len: u32, lanes: u32) -> u32 {
    if len > 2 * piece_len(lanes) {
        len.div_ceil(piece_len(lanes))
    } else {
        0
    }
}

/// Returns the place of the entry that is summed `at`-th. The entry next to the diagonal is the last: its row is solved last, and the
/// others are summed in the meantime.
#[device]
pub fn toward_diagonal(len: usize, at: usize, is_upper: bool) -> usize {
    if is_upper {
        len.wrapping_sub(at + 1)
    } else {
        at
    }
}

kernel! {
    /// Finds the entries of a triangle in each row, the diagonal left out: one thread per row.
    pub struct FindTriangle<O: Offset> {
        /// The matrix, square and canonical.
        pub pattern: GlobalPattern<O>,
        /// Output: the first of the entries of each row.
        pub begins: GlobalMut<O>,
        /// Output: how many they are.
        pub lengths: GlobalMut<u32>,
        /// Output, [`FOUND_WORDS`] that are zero before: the complement of the first row without an entry on the diagonal, or zero if
        /// all have one; the number of entries of all rows; the number of pieces of long rows, for each number of lanes.
        pub found: GlobalMut<u64>,
        /// 1 for the upper triangle, 0 for the lower one.
        pub is_upper: u32,
    }
    shared: 0;
    body: FindTriangle::find::<BLOCK>;
    entry: triangular_find_triangle_{O} in triangular: O in [u32, u64], 256 x 1;
}

impl<O: Offset> FindTriangle<O> {
    #[device]
    fn find<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        let mut len = 0;
        if row < self.pattern.rows as usize {
            let (start, end) = self.pattern.row_bounds(row);
            let columns = self.pattern.column_indices;
            let diagonal = partition_point(start, end, |at| (columns.load(at) as usize) < row);
            let is_missing = diagonal == end || columns.load(diagonal) as usize != row;
            if is_missing {
                self.found.fetch_max(MISSING_WORD, !(row as u64), Ordering::Relaxed, Scope::Device);
            }
            let above = diagonal + usize::from(!is_missing);
            let (begin, end) = if self.is_upper == 0 { (start, diagonal) } else { (above, end) };
            len = (end - begin) as u32;
            self.begins.store(row, O::from_bits(begin as u64));
            self.lengths.store(row, len);
        }
        self.count(COUNT_WORD, len);
        unroll!(for log in 0..PIECE_LENS {
            self.count(PIECES_WORD + log, pieces_of(len, 1 << log));
        });
    }

    /// Adds what the lanes of a warp count.
    #[device]
    fn count(self, word: usize, count: u32) {
        let sum = warp::reduce_add(u64::from(count));
        if thread::lane() == 0 && sum > 0 {
            self.found.fetch_add(word, sum, Ordering::Relaxed, Scope::Device);
        }
    }
}

parameters! {
    /// Entries of the rows of a triangle, the diagonal left out.
    pub struct TriangleEntries<O: Offset> {
        /// The first of each.
        pub begins: Global<O>,
        /// How many each has.
        pub lengths: Global<u32>,
        /// Number of rows, or of rows and pieces.
        pub count: u32,
        /// 1 for the upper triangle, 0 for the lower one.
        pub is_upper: u32,
    }
}

impl<O: Offset> TriangleEntries<O> {
    /// Returns the first entry of a row or piece, and how many there are.
    #[device(track_caller)]
    pub fn of(self, place: usize) -> (usize, u32) {
        (self.begins.load(place).to_usize(), self.lengths.load(place))
    }

    /// Returns the place of the diagonal of a row that has these entries, and one on the diagonal.
    #[device]
    pub fn diagonal(self, (begin, len): (usize, u32)) -> usize {
        if self.is_upper == 0 {
            begin + len as usize
        } else {
            begin - 1
        }
    }
}

parameters! {
    /// A triangle whose units are in an order in which each comes after those that it needs. A unit is a row, or a piece of a long
    /// one; those with the numbers of rows are the rows.
    pub struct SortedTriangle<O: Offset> {
        /// The units.
        pub units: Global<u32>,
        /// Their entries, in the same order; of a row that is cut, those of its pieces too.
        pub entries: TriangleEntries<O>,
        /// The first piece of each row that is cut.
        pub first_pieces: Global<u32>,
        /// Rows of the matrix.
        pub rows: u32,
        /// 1 if the diagonal is taken to be 1 and not read.
        pub is_unit: u32,
    }
}

kernel! {
    /// Numbers the pieces of long rows, and writes the step of each row and piece: that of a row is twice its level, and its pieces
    /// are one step before. One thread per row.
    pub struct NumberPieces<O: Offset> {
        /// The entries of each row.
        pub entries: TriangleEntries<O>,
        /// The level of each row.
        pub levels: Global<u32>,
        /// Lanes of a unit.
        pub lanes: u32,
        /// Number of pieces so far, zero before. The order of rows varies, but sums do not depend on it.
        pub numbered: GlobalMut<u32>,
        /// Output: the first piece of each row that is cut.
        pub first_pieces: GlobalMut<u32>,
        /// Output: the row of each piece.
        pub piece_rows: GlobalMut<u32>,
        /// Output: the steps of rows, then those of pieces.
        pub steps: GlobalMut<u32>,
    }
    shared: 0;
    body: NumberPieces::number::<BLOCK>;
    entry: triangular_number_pieces_{O} in triangular: O in [u32, u64], 256 x 1;
}

impl<O: Offset> NumberPieces<O> {
    #[device]
    fn number<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        let rows = self.entries.count as usize;
        if row >= rows {
            return;
        }
        let step = 2 * self.levels.load(row);
        self.steps.store(row, step);
        let pieces = pieces_of(self.entries.lengths.load(row), self.lanes);
        if pieces > 0 {
            let first = self.numbered.fetch_add(0, pieces, Ordering::Relaxed, Scope::Device);
            self.first_pieces.store(row, first);
            for piece in first as usize..(first + pieces) as usize {
                self.piece_rows.store(piece, row as u32);
                self.steps.store(rows + piece, step - 1);
            }
        }
    }
}

kernel! {
    /// Writes the entries of the units in their order: one thread per unit.
    pub struct OrderTriangle<O: Offset> {
        /// The units.
        pub units: Global<u32>,
        /// Number of units.
        pub count: u32,
        /// The entries of each row, by [`FindTriangle`].
        pub entries: TriangleEntries<O>,
        /// The first piece of each row that is cut.
        pub first_pieces: Global<u32>,
        /// The row of each piece.
        pub piece_rows: Global<u32>,
        /// Lanes of a unit.
        pub lanes: u32,
        /// Output: the first entry of each unit.
        pub begins: GlobalMut<O>,
        /// Output: how many entries it has.
        pub lengths: GlobalMut<u32>,
    }
    shared: 0;
    body: OrderTriangle::order::<BLOCK>;
    entry: triangular_order_{O} in triangular: O in [u32, u64], 256 x 1;
}

impl<O: Offset> OrderTriangle<O> {
    #[device]
    fn order<const BLOCK: usize>(self, _: Arena) {
        let place = thread::global_index::<BLOCK>();
        if place >= self.count as usize {
            return;
        }
        let unit = self.units.load(place);
        let (begin, len) =
            if unit < self.entries.count { self.entries.of(unit as usize) } else { self.piece(unit) };
        self.begins.store(place, O::from_bits(begin as u64));
        self.lengths.store(place, len);
    }

    /// Returns the entries of a piece.
    #[device]
    fn piece(self, unit: u32) -> (usize, u32) {
        let piece = unit - self.entries.count;
        let row = self.piece_rows.load(piece as usize) as usize;
        let (begin, len) = self.entries.of(row);
        let before = (piece - self.first_pieces.load(row)) * piece_len(self.lanes);
        let own = piece_len(self.lanes).min(len - before);
        let first = if self.entries.is_upper == 0 { before } else { len - before - own };
        (begin + first as usize, own)
    }
}

kernel! {
    /// Finds the first row whose diagonal is zero: one thread per unit.
    pub struct FindZeroPivots<V: Element, O: Offset> {
        /// The triangle, with a diagonal.
        pub triangle: SortedTriangle<O>,
        /// The values of the matrix.
        pub values: Global<V>,
        /// Output, zero before: the complement of the row, or zero if there is none.
        pub found: GlobalMut<u64>,
    }
    shared: 0;
    body: FindZeroPivots::find::<BLOCK>;
    entries: {
        triangular_find_zero_pivots_{V}_{O} in triangular: V in [f32, f64], O in [u32, u64], 256 x 1;
        triangular_find_zero_pivots_{V}_{O} in triangular_{V}:
            V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 256 x 1;
    }
}

impl<V: Element, O: Offset> FindZeroPivots<V, O> {
    #[device]
    fn find<const BLOCK: usize>(self, _: Arena) {
        let place = thread::global_index::<BLOCK>();
        let SortedTriangle { units, entries, rows, .. } = self.triangle;
        let unit = units.load_if(place, place < entries.count as usize);
        if place >= entries.count as usize || unit >= rows {
            return;
        }
        if self.values.load(entries.diagonal(entries.of(place))) == V::ZERO {
            self.found.fetch_max(MISSING_WORD, !u64::from(unit), Ordering::Relaxed, Scope::Device);
        }
    }
}
