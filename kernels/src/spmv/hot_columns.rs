//! SpMV with the *hot* columns' elements of x in shared memory: those of the columns that have the most nonzeros.
//!
//! If few columns have most of the nonzeros, as in graphs of the web or of people, most gathers from x go to few
//! elements, scattered over x. Blocks stay on their multiprocessors, and each copies these elements once. Only the
//! other columns are left for the caches.
//!
//! A *code* stands for a nonzero's column ([`super::EncodeHotColumns`]): the place of a hot column's element, or a column behind
//! those; and it says whether the nonzero is the last of its row. So the kernel reads no row offsets, and a warp works by itself:
//! it takes chunks of nonzeros, and in them tiles with consecutive nonzeros for each lane. Rows that lie in several chunks are cut
//! ([`super::FindCutRows`]). Sums depend on neither the number of hot columns nor that of blocks.

use evenpath_simt::{device, kernel, thread, warp, Aligned16, Arena, Arithmetic, Global, GlobalMut, Shared};

use super::cut_rows::{CutRows, CutRowsOfTile};
use super::product::SpmvArguments;
use super::windows::fill_window;
use crate::block::segmented_scan::warp_inclusive;
use crate::update::Update;
use crate::{GlobalPattern, Offset, RowMap};

/// Nonzeros of a tile.
pub const HOT_TILE: u32 = 4 * thread::WARP_SIZE;

/// Elements and rows that a thread loads before it uses the first.
const AT_ONCE: usize = 4;

/// The bit of a code that is set for the last nonzero of a row.
pub(super) const ROW_END: u32 = 1 << 31;

kernel! {
    /// Gathers the elements of x that the hot columns have, and writes the rows that have no nonzeros: one thread per column and
    /// per row.
    pub struct GatherHotColumns<V: Arithmetic, O: Offset> {
        /// The matrix; without rows if none is empty.
        pub pattern: GlobalPattern<O>,
        /// The dense vector x.
        pub x: Global<V>,
        /// The hot columns, ascending.
        pub hot_columns: Global<u32>,
        /// Output: their elements of x.
        pub hot_x: GlobalMut<V>,
        /// The result, one element per row; only those of empty rows are written.
        pub update: Update<V>,
        /// Hot columns.
        pub hot: u32,
    }
    shared: 0;
    body: GatherHotColumns::gather::<BLOCK>;
    entry: spmv_gather_hot_columns_{V}_{O} in spmv_hot_{V}: V in [f32, f64], O in [u32, u64], 256 x 1;
}

impl<V: Arithmetic, O: Offset> GatherHotColumns<V, O> {
    #[device]
    fn gather<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.hot as usize {
            self.hot_x.store(index, self.x.load(self.hot_columns.load(index) as usize));
        }
        if index < self.pattern.rows as usize && self.pattern.row_len(index) == 0 {
            self.update.store(index, V::ZERO);
        }
    }
}

kernel! {
    /// Computes y = αAx + βy. The launch-sized shared memory holds the hot columns' elements of x; there may be fewer blocks than
    /// chunks.
    pub struct HotColumns<V: Arithmetic, O: Offset> {
        /// The matrix, whose columns are not read, and the vectors; without rows if none is empty, or [`GatherHotColumns`] writes these.
        pub product: SpmvArguments<V, O>,
        /// The codes of the columns, one per nonzero.
        pub codes: Global<u32, Aligned16>,
        /// The hot columns, ascending.
        pub hot_columns: Global<u32>,
        /// Their elements of x, from [`GatherHotColumns`]; if there are none, each block gathers its own.
        pub hot_x: Global<V, Aligned16>,
        /// The row of each chunk's first nonzero, among the rows that have nonzeros, and their number at the end.
        pub chunk_rows: Global<u32>,
        /// The element of y of each row that has nonzeros.
        pub filled_rows: RowMap,
        /// The rows that are cut; a tile is a chunk.
        pub cut_rows: CutRows,
        /// Hot columns, at least one.
        pub hot: u32,
        /// 1 if there are elements in `hot_x`.
        pub is_gathered: u32,
        /// Chunks.
        pub chunks: u32,
        /// Tiles of [`HOT_TILE`] nonzeros.
        pub tiles: u32,
        /// Tiles of a chunk.
        pub chunk_tiles: u32,
    }
    shared: 0;
    body: HotColumns::hot_columns::<BLOCK, ITEMS>;
    entry: spmv_hot_columns_{V}_{O} in spmv_hot_{V}: V in [f32, f64], O in [u32, u64], 1024 x 4 resident 1;
}

/// Consecutive nonzeros of a lane. The ones after the matrix's last, which ends a row, are in no row, and their
/// products are not used.
#[derive(Clone, Copy)]
struct LaneNonzeros<V, const ITEMS: usize> {
    codes: [u32; ITEMS],
    values: [V; ITEMS],
}

/// The rows that end at a lane's nonzeros.
#[derive(Clone, Copy)]
struct Ends<const ITEMS: usize> {
    /// A bit for each nonzero that is the last of its row.
    marks: u32,
    /// The elements of y of these rows.
    rows: [u32; ITEMS],
    /// True if the first row is one that an earlier chunk began.
    has_head: bool,
    /// Rows that end in the whole tile.
    all: u32,
}

/// A chunk on its way through a warp.
#[derive(Clone, Copy)]
struct HotChunk<V> {
    index: u32,
    /// The row of the first nonzero, among the rows that have some.
    first_row: u32,
    cut_rows: CutRowsOfTile,
    /// True in one lane if the chunk was the last to leave its part of a row that it finishes but did not begin.
    finishes_head: bool,
    /// The row of the next nonzero, and its sum so far.
    row: u32,
    sum: V,
}

impl<V: Arithmetic, O: Offset> HotColumns<V, O> {
    #[device]
    fn hot_columns<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        const { assert!(ITEMS as u32 * thread::WARP_SIZE == HOT_TILE) };
        let window: Shared<V> = Arena::dynamic(self.hot * V::SIZE as u32).take(self.hot as usize);
        if self.is_gathered != 0 {
            fill_window::<V, BLOCK>(window, self.hot_x, 0, self.hot);
        } else {
            self.gather::<BLOCK>(window);
        }
        thread::barrier();
        self.chunks::<BLOCK, ITEMS>(window);
        self.fill_empty_rows::<BLOCK>();
    }

    /// Gathers the hot columns' elements of x.
    #[device]
    fn gather<const BLOCK: usize>(self, window: Shared<V>) {
        let mut first = thread::index();
        while first < self.hot {
            let mut elements = [V::ZERO; AT_ONCE];
            for item in 0..AT_ONCE {
                let place = (first + (item * BLOCK) as u32).min(self.hot - 1);
                elements[item] = self.product.x.load(self.hot_columns.load(place as usize) as usize);
            }
            for item in 0..AT_ONCE {
                let place = first + (item * BLOCK) as u32;
                if place < self.hot {
                    window.store(place as usize, elements[item]);
                }
            }
            first += (AT_ONCE * BLOCK) as u32;
        }
    }

    /// Writes the rows that have no nonzeros.
    #[device]
    fn fill_empty_rows<const BLOCK: usize>(self) {
        let rows = self.product.matrix.rows as usize;
        let stride = thread::grid_size() as usize * BLOCK;
        let mut first = thread::global_index::<BLOCK>();
        while first < rows {
            let mut are_empty = [false; AT_ONCE];
            for item in 0..AT_ONCE {
                let row = first + item * stride;
                let (begin, end) = self.product.bounds(row, rows);
                are_empty[item] = row < rows && begin == end;
            }
            for item in 0..AT_ONCE {
                if are_empty[item] {
                    self.product.update.store(first + item * stride, V::ZERO);
                }
            }
            first += AT_ONCE * stride;
        }
    }

    /// Sums the rows of every chunk of this warp.
    #[device]
    fn chunks<const BLOCK: usize, const ITEMS: usize>(self, window: Shared<V>) {
        let warps = thread::grid_size() * const { BLOCK as u32 / thread::WARP_SIZE };
        // Neighboring chunks are different blocks' work.
        let mut index = thread::warp() * thread::grid_size() + thread::block();
        if index >= self.chunks {
            return;
        }
        let mut tile = index * self.chunk_tiles;
        let mut chunk = self.begin(index);
        let mut next = self.load::<ITEMS>(tile);
        loop {
            let nonzeros = next;
            let ends = self.ends(&chunk, nonzeros.codes);
            let products = self.products(window, nonzeros);
            let is_last = tile + 1 == self.tiles.min((index + 1) * self.chunk_tiles);
            index = if is_last { index + warps } else { index };
            tile = if is_last { index * self.chunk_tiles } else { tile + 1 };
            // The next tile's nonzeros are on their way while these are summed.
            if index < self.chunks {
                next = self.load::<ITEMS>(tile);
            }
            self.sum(&mut chunk, ends, products);
            if is_last {
                self.end(chunk);
                if index >= self.chunks {
                    return;
                }
                chunk = self.begin(index);
            }
        }
    }

    #[device]
    fn begin(self, index: u32) -> HotChunk<V> {
        let first_row = self.chunk_rows.load(index as usize);
        let cut_rows = self.cut_rows.of_tile(index);
        HotChunk { index, first_row, cut_rows, finishes_head: false, row: first_row, sum: V::ZERO }
    }

    /// Leaves what the chunk has of the row after its end.
    #[device]
    fn end(self, chunk: HotChunk<V>) {
        let store = |row: u32, sum: V| self.product.update.store(self.filled_rows.row(row as usize), sum);
        self.cut_rows.leave_by_warp(
            chunk.index,
            chunk.cut_rows,
            (chunk.finishes_head, chunk.sum),
            |sum| store(chunk.first_row, sum),
            |sum| store(chunk.row, sum),
        );
    }

    /// Loads this lane's nonzeros of a tile.
    #[device]
    fn load<const ITEMS: usize>(self, tile: u32) -> LaneNonzeros<V, ITEMS> {
        let first = tile as usize * HOT_TILE as usize + thread::lane() as usize * ITEMS;
        let (mut codes, mut values) = ([0; ITEMS], [V::ZERO; ITEMS]);
        if first + ITEMS <= self.product.matrix.nonzeros as usize {
            codes.copy_from_slice(&self.codes.load_streaming_4(first));
            values.copy_from_slice(&self.product.matrix.values.load_streaming_4(first));
        } else {
            for item in 0..ITEMS {
                if first + item < self.product.matrix.nonzeros as usize {
                    codes[item] = self.codes.load_streaming(first + item);
                    values[item] = self.product.matrix.values.load_streaming(first + item);
                }
            }
        }
        LaneNonzeros { codes, values }
    }

    /// Returns the rows that end at a lane's nonzeros.
    #[device]
    fn ends<const ITEMS: usize>(self, chunk: &HotChunk<V>, codes: [u32; ITEMS]) -> Ends<ITEMS> {
        let (mut marks, mut before, mut all) = (0, 0, 0);
        for item in 0..ITEMS {
            let is_end = codes[item] & ROW_END != 0;
            marks |= u32::from(is_end) << item;
            let of_warp = warp::ballot(warp::FULL, is_end);
            before += warp::count_below(of_warp);
            all += of_warp.count_ones();
        }
        let rows = self.filled_rows.next_rows(chunk.row + before, |item| marks >> item & 1 != 0);
        let has_head = chunk.cut_rows.is_finished && chunk.row + before == chunk.first_row;
        Ends { marks, rows, has_head, all }
    }

    /// Returns the products of a lane's nonzeros.
    #[device]
    fn products<const ITEMS: usize>(self, window: Shared<V>, nonzeros: LaneNonzeros<V, ITEMS>) -> [V; ITEMS] {
        let (mut near, mut far) = ([V::ZERO; ITEMS], [V::ZERO; ITEMS]);
        for item in 0..ITEMS {
            let code = nonzeros.codes[item] & !ROW_END;
            far[item] = self.product.x.load_if(code.wrapping_sub(self.hot) as usize, code >= self.hot);
        }
        for item in 0..ITEMS {
            // Lanes with other columns read the same element: that is faster than a branch.
            near[item] = window.load((nonzeros.codes[item] & !ROW_END).min(self.hot - 1) as usize);
        }
        let mut products = [V::ZERO; ITEMS];
        for item in 0..ITEMS {
            let is_hot = nonzeros.codes[item] & !ROW_END < self.hot;
            products[item] = nonzeros.values[item] * if is_hot { near[item] } else { far[item] };
        }
        products
    }

    /// Adds a tile's products to the sums of their rows, and stores those of the rows that end in it.
    #[device]
    fn sum<const ITEMS: usize>(self, chunk: &mut HotChunk<V>, ends: Ends<ITEMS>, mut sums: [V; ITEMS]) {
        let is_end = |item: usize| ends.marks >> item & 1 != 0;
        // 1. Sum the lane's own products, up to each end.
        let mut running = V::ZERO;
        for item in 0..ITEMS {
            running += sums[item];
            sums[item] = running;
            running = if is_end(item) { V::ZERO } else { running };
        }
        // 2. Add to the first what the lanes before have of its row.
        let heads = warp::ballot(warp::FULL, ends.marks != 0);
        let inclusive = warp_inclusive(running, heads, thread::lane());
        let shifted = warp::shuffle_up(warp::FULL, inclusive, 1);
        let last = warp::shuffle(warp::FULL, inclusive, thread::WARP_SIZE - 1);
        let is_continued = heads & ((1 << thread::lane()) - 1) == 0;
        let mut open = if thread::lane() == 0 {
            chunk.sum
        } else if is_continued {
            chunk.sum + shifted
        } else {
            shifted
        };
        // 3. Store the rows that end; the first may be one of several chunks.
        let mut is_head = ends.has_head;
        for item in 0..ITEMS {
            if is_end(item) {
                let sum = open + sums[item];
                open = V::ZERO;
                if is_head {
                    chunk.finishes_head = self.cut_rows.leave_head(chunk.index, sum);
                } else {
                    self.product.update.store(ends.rows[item] as usize, sum);
                }
                is_head = false;
            }
        }
        chunk.row += ends.all;
        chunk.sum = if heads == 0 { chunk.sum + last } else { last };
    }
}
