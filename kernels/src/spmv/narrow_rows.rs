//! SpMV by row tiles, and with windows of x, of matrices whose columns have codes of 16 bits ([`super::EncodeColumns`]).

use evenpath_simt::{kernel, thread, warp, Arena, Float, Global, GlobalMut, Shared};

use super::encode_columns::{NO_CODES, PLACE_BITS, SEGMENTS};
use super::row_group::{load_fours, load_strided, product_bytes, Columns, Exact, Matrix, RowGroup};
use super::row_tiles::{FourRows, OneRow, RowShare, Tile, TwoRows};
use super::store_result;
use super::windows::fill_window;
use crate::Offset;

/// The columns of a tile: codes, or, in a tile that has none, whole.
#[derive(Clone, Copy)]
struct Narrow<D> {
    codes: Global<u16>,
    whole: Global<u32>,
    decoder: D,
}

/// What the codes of a tile stand for.
trait Decoder: Copy {
    /// Whether the tile has codes.
    fn has_codes(self) -> bool;
    /// The column of a code, or of a column.
    fn column(self, word: u32) -> u32;
}

impl<D: Decoder> Columns for Narrow<D> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn skip(mut self, start: usize) -> Self {
        // The one that is not there may have no place `start`.
        if self.decoder.has_codes() {
            self.codes = self.codes.skip(start);
        } else {
            self.whole = self.whole.skip(start);
        }
        self
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn load(self, index: usize) -> u32 {
        if self.decoder.has_codes() {
            u32::from(self.codes.load_streaming(index))
        } else {
            self.whole.load_streaming(index)
        }
    }

    #[inline(always)]
    fn load_strided<const ITEMS: usize>(
        self,
        first: usize,
        is_wanted: impl Fn(usize) -> bool,
    ) -> [u32; ITEMS] {
        if self.decoder.has_codes() {
            load_strided(first, is_wanted, |index| u32::from(self.codes.load_streaming(index)))
        } else {
            load_strided(first, is_wanted, |index| self.whole.load_streaming(index))
        }
    }

    #[inline(always)]
    fn load_fours<const ITEMS: usize>(self, first: usize, is_wanted: impl Fn(usize) -> bool) -> [u32; ITEMS] {
        if self.decoder.has_codes() {
            load_fours(first, is_wanted, |index| self.codes.load_streaming_4(index).map(u32::from))
        } else {
            load_fours(first, is_wanted, |index| self.whole.load_streaming_4(index))
        }
    }

    #[inline(always)]
    fn column(self, word: u32) -> u32 {
        self.decoder.column(word)
    }
}

/// A directory of segments.
#[derive(Clone, Copy)]
struct Directory {
    /// The first column of this lane's segment.
    segment: u32,
    /// The matrix's last column: what codes of another tile stand for, in this one's directory, may be behind it.
    last: u32,
}

impl Decoder for Directory {
    #[inline(always)]
    fn has_codes(self) -> bool {
        self.segment != NO_CODES
    }

    #[inline(always)]
    fn column(self, word: u32) -> u32 {
        let first = warp::shuffle(warp::FULL, self.segment, (word >> PLACE_BITS) % SEGMENTS);
        let place = word & ((1 << PLACE_BITS) - 1);
        if self.has_codes() {
            first.wrapping_add(place).min(self.last)
        } else {
            word
        }
    }
}

kernel! {
    /// Computes y = αAx + βy, each warp for 32·`ROWS` / 2^`lanes_log2` rows; its variants are the rows that a lane
    /// sums. Groups of rows with 2³² − 2¹⁰ nonzeros and more are beyond it.
    pub struct NarrowRows<V: Float, O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Column indices, one a nonzero; read only where a tile has no codes.
        pub column_indices: Global<u32>,
        /// The codes of the columns, from [`EncodeColumns`](super::EncodeColumns).
        pub codes: Global<u16>,
        /// The directories of the tiles, likewise.
        pub directories: Global<u32>,
        /// Values, one a nonzero.
        pub values: Global<V>,
        /// The dense vector, one element a column.
        pub x: Global<V>,
        /// The result, one element a row; read only where `beta` is not zero.
        pub y: GlobalMut<V>,
        /// Rows of the matrix.
        pub rows: u32,
        /// The last column of the matrix.
        pub last_column: u32,
        /// Nonzeros of the matrix.
        pub nonzeros: u64,
        /// Binary logarithm of the rows of a tile, a multiple of those of a warp.
        pub tile_rows_log2: u32,
        /// Binary logarithm of the lanes that sum a row; 0 for all variants but `OneRow`.
        pub lanes_log2: u32,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
    shared: product_bytes::<V>(BLOCK * ITEMS);
    body: narrow_rows::<V, O, P, BLOCK, ITEMS>;
    entries: {
        spmv_narrow_rows_1x8_f32_u32 in spmv_narrow: <V = f32, O = u32>, with P = OneRow, 64 x 8 resident 16;
        spmv_narrow_rows_2x12_f32_u32 in spmv_narrow: <V = f32, O = u32>, with P = TwoRows, 128 x 12;
        spmv_narrow_rows_4x4_f32_u32 in spmv_narrow: <V = f32, O = u32>, with P = FourRows, 64 x 4;
        spmv_narrow_rows_4x8_f32_u32 in spmv_narrow: <V = f32, O = u32>, with P = FourRows, 64 x 8 resident 16;
        spmv_narrow_rows_1x8_f32_u64 in spmv_narrow: <V = f32, O = u64>, with P = OneRow, 64 x 8 resident 16;
        spmv_narrow_rows_2x12_f32_u64 in spmv_narrow: <V = f32, O = u64>, with P = TwoRows, 128 x 12;
        spmv_narrow_rows_4x4_f32_u64 in spmv_narrow: <V = f32, O = u64>, with P = FourRows, 64 x 4;
        spmv_narrow_rows_4x8_f32_u64 in spmv_narrow: <V = f32, O = u64>, with P = FourRows, 64 x 8 resident 16;
        spmv_narrow_rows_1x6_f64_u32 in spmv_narrow: <V = f64, O = u32>, with P = OneRow, 128 x 6 resident 8;
        spmv_narrow_rows_2x6_f64_u32 in spmv_narrow: <V = f64, O = u32>, with P = TwoRows, 128 x 6 resident 8;
        spmv_narrow_rows_4x4_f64_u32 in spmv_narrow: <V = f64, O = u32>, with P = FourRows, 64 x 4 resident 16;
        spmv_narrow_rows_1x6_f64_u64 in spmv_narrow: <V = f64, O = u64>, with P = OneRow, 128 x 6 resident 8;
        spmv_narrow_rows_2x6_f64_u64 in spmv_narrow: <V = f64, O = u64>, with P = TwoRows, 128 x 6 resident 8;
        spmv_narrow_rows_4x4_f64_u64 in spmv_narrow: <V = f64, O = u64>, with P = FourRows, 64 x 4 resident 16;
    }
}

#[inline(always)]
fn narrow_rows<V: Float, O: Offset, P: RowShare, const BLOCK: usize, const ITEMS: usize>(
    mut arena: Arena,
    row_offsets: Global<O>,
    column_indices: Global<u32>,
    codes: Global<u16>,
    directories: Global<u32>,
    values: Global<V>,
    x: Global<V>,
    y: GlobalMut<V>,
    rows: u32,
    last_column: u32,
    nonzeros: u64,
    tile_rows_log2: u32,
    lanes_log2: u32,
    alpha: V,
    beta: V,
) {
    let products: Shared<V> = arena.take(BLOCK * ITEMS);
    let products = products.skip(thread::warp() as usize * 32 * ITEMS);
    let block = thread::block();
    let warp = u64::from(block) * (BLOCK / 32) as u64 + u64::from(thread::warp());
    let first = warp * u64::from((32 * P::ROWS) >> lanes_log2);
    if first >= u64::from(rows) {
        return;
    }
    let directory = (first >> tile_rows_log2) as usize * SEGMENTS as usize;
    let segment = directories.load(directory + thread::lane() as usize);
    let decoder = Directory { segment, last: last_column };
    let column_indices = Narrow { codes, whole: column_indices, decoder };
    let matrix = Matrix { row_offsets, column_indices, values, nonzeros };
    let tile = Tile { matrix, x, y, block, rows, lanes_log2, limit: u32::MAX, alpha, beta };
    P::run::<V, O, Narrow<Directory>, false, BLOCK, ITEMS>(tile, products);
}

/// The columns of a block with a window, counted from its first one; whole columns in a block without.
#[derive(Clone, Copy)]
struct InWindow {
    has_window: bool,
    /// The tile's least column, counted from the window's first.
    least: u32,
}

impl Decoder for InWindow {
    #[inline(always)]
    fn has_codes(self) -> bool {
        self.has_window
    }

    #[inline(always)]
    fn column(self, word: u32) -> u32 {
        word + self.least
    }
}

kernel! {
    /// Computes y = αAx + βy, a block of rows a block; its warps take groups of 32 / 2^`lanes_log2` rows in turn. The
    /// launch-sized shared memory holds the longest window, which is shorter than 2¹⁶. Groups of rows with 2³² − 2¹⁰
    /// nonzeros and more are beyond it.
    pub struct NarrowWindows<V: Float, O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Column indices, one a nonzero; read only for rows of a block without a window.
        pub column_indices: Global<u32>,
        /// The codes of the columns, from [`EncodeColumns`](super::EncodeColumns).
        pub codes: Global<u16>,
        /// The directories of the tiles, likewise.
        pub directories: Global<u32>,
        /// Values, one a nonzero.
        pub values: Global<V>,
        /// The dense vector, one element a column.
        pub x: Global<V>,
        /// The result, one element a row; read only where `beta` is not zero.
        pub y: GlobalMut<V>,
        /// First column of each window, from [`FindWindows`](super::FindWindows).
        pub firsts: Global<u32>,
        /// Elements of each window, likewise; rows of a block without one gather from x.
        pub lens: Global<u32>,
        /// Elements of the longest window.
        pub longest: u32,
        /// Rows of the matrix.
        pub rows: u32,
        /// Nonzeros of the matrix.
        pub nonzeros: u64,
        /// Rows of a block.
        pub block_rows: u32,
        /// Binary logarithm of the rows of a tile, a multiple of those of a warp and a divisor of those of a block.
        pub tile_rows_log2: u32,
        /// Binary logarithm of the lanes that sum a row.
        pub lanes_log2: u32,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
    shared: product_bytes::<V>(BLOCK * ITEMS);
    body: narrow_windows::<V, O, BLOCK, ITEMS>;
    entries: {
        spmv_narrow_windows_f32_u32 in spmv_narrow: <V = f32, O = u32>, 512 x 6 resident 3;
        spmv_narrow_windows_f32_u64 in spmv_narrow: <V = f32, O = u64>, 512 x 6 resident 3;
        spmv_narrow_windows_f64_u32 in spmv_narrow: <V = f64, O = u32>, 512 x 4 resident 3;
        spmv_narrow_windows_f64_u64 in spmv_narrow: <V = f64, O = u64>, 512 x 4 resident 3;
    }
}

#[inline(always)]
fn narrow_windows<V: Float, O: Offset, const BLOCK: usize, const ITEMS: usize>(
    mut arena: Arena,
    row_offsets: Global<O>,
    column_indices: Global<u32>,
    codes: Global<u16>,
    directories: Global<u32>,
    values: Global<V>,
    x: Global<V>,
    y: GlobalMut<V>,
    firsts: Global<u32>,
    lens: Global<u32>,
    longest: u32,
    rows: u32,
    nonzeros: u64,
    block_rows: u32,
    tile_rows_log2: u32,
    lanes_log2: u32,
    alpha: V,
    beta: V,
) {
    let window: Shared<V> = Arena::dynamic(longest * V::SIZE as u32).take(longest as usize);
    let products: Shared<V> = arena.take(BLOCK * ITEMS);
    let products = products.skip(thread::warp() as usize * 32 * ITEMS);
    let block = thread::block() as usize;
    let (window_first, window_len) = (firsts.load(block), lens.load(block));
    fill_window::<V, BLOCK>(window, x, window_first, window_len);
    thread::barrier();

    let has_window = window_len > 0;
    let block_first = thread::block() * block_rows;
    let block_end = rows.min(block_first + block_rows);
    let count = 32 >> lanes_log2;
    let mut first = block_first + thread::warp() * count;
    while first < block_end {
        let end = block_end.min(first + count);
        let directory = (first >> tile_rows_log2) as usize * SEGMENTS as usize;
        // A tile without nonzeros has no least column, and no use for one.
        let least = if has_window { directories.load(directory).wrapping_sub(window_first) } else { 0 };
        let decoder = InWindow { has_window, least };
        let column_indices = Narrow { codes, whole: column_indices, decoder };
        let matrix = Matrix { row_offsets, column_indices, values, nonzeros };
        let group = RowGroup::<1> { first, end, lanes_log2, limit: u32::MAX };
        let gather = |column: u32| {
            if has_window {
                window.load(column as usize)
            } else {
                x.load(column as usize)
            }
        };
        let sums = group.sums::<V, O, _, Exact, false, ITEMS>(matrix, products, gather);
        let row = group.row(0);
        if group.stores() && row < end {
            store_result(y, row as usize, sums[0], alpha, beta);
        }
        first += (BLOCK / 32) as u32 * count;
    }
}
