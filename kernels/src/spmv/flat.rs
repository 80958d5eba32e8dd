//! SpMV by a flat split of the nonzeros (Dalton, Baxter, Merrill, Olson, Garland, "Optimizing Sparse Matrix Operations
//! on GPUs using Merge Path", IPDPS 2015, section III-A): the same number of nonzeros per block, in any rows.
//!
//! Three phases. The *partition* ([`FlatPartition`], once per plan) finds the row of each tile's first nonzero; the
//! *reduction* ([`FlatTile`]) sums the products of each tile by rows; the *update* adds to the first sum of a tile the
//! sums of its row in the tiles before. The paper's update is a kernel; here the last tile of a row to arrive does it
//! ([`super::FindCutRows`]).
//!
//! All three assume that every row has nonzeros: then rows end at different nonzeros, and a tile has no more rows than
//! nonzeros. The empty rows of a matrix are left out ([`FlatCompactRows`], once per plan) and written by
//! [`FlatFillEmptyRows`].
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Global, GlobalMut, Shared};

use super::cut_rows::{CutRows, LongSpan};
use super::product::SpmvArguments;
use crate::block::filled_rows::{number_filled_rows, numbering_bytes};
use crate::block::search::partition_point;
use crate::block::segmented_scan::SegmentedScan;
use crate::block::strided::{self, load_repeating};
use crate::update::Update;
use crate::{GlobalPattern, Offset, RowMap};

kernel! {
    /// Lists the rows that have nonzeros: one thread per row, blocks in the order in which they start.
    pub struct FlatCompactRows<O: Offset> {
        /// The matrix, of at least one row.
        pub pattern: GlobalPattern<O>,
        /// Output: the rows that have nonzeros, in order; at most all.
        pub filled_rows: GlobalMut<u32>,
        /// Output: their row offsets; one more.
        pub filled_offsets: GlobalMut<O>,
        /// Output: one word, how many there are.
        pub count: GlobalMut<u32>,
        /// A ticket and one word per block, all zero before.
        pub states: GlobalMut<u64>,
    }
    shared: numbering_bytes::<BLOCK>();
    body: FlatCompactRows::compact_rows::<BLOCK>;
    entry: spmv_flat_compact_rows_{O} in spmv_flat_plan: O in [u32, u64], 256 x 1;
}

impl<O: Offset> FlatCompactRows<O> {
    #[device]
    fn compact_rows<const BLOCK: usize>(self, arena: Arena) {
        let GlobalPattern { row_offsets, rows, .. } = self.pattern;
        let numbered = number_filled_rows::<O, BLOCK>(arena, row_offsets, self.states, rows, |_| ());
        if numbered.is_filled {
            self.filled_rows.store(numbered.before, numbered.row as u32);
            self.filled_offsets.store(numbered.before, row_offsets.load(numbered.row));
        }
        if numbered.row == rows as usize - 1 {
            let all = numbered.before + usize::from(numbered.is_filled);
            self.filled_offsets.store(all, row_offsets.load(rows as usize));
            self.count.store(0, all as u32);
        }
    }
}

kernel! {
    /// Partition: finds the row of each tile's first nonzero, one thread per tile, and one for the end.
    pub struct FlatPartition<O: Offset> {
        /// The rows that have nonzeros.
        pub pattern: GlobalPattern<O>,
        /// Output: the row of each tile's first nonzero, and the number of rows at the end; `tiles` + 1.
        pub tile_rows: GlobalMut<u32>,
        /// Tiles.
        pub tiles: u32,
        /// Nonzeros of a tile.
        pub tile_items: u32,
    }
    shared: 0;
    body: FlatPartition::partition;
    entry: spmv_flat_partition_{O} in spmv_flat_plan: O in [u32, u64], 256 x 1;
}

impl<O: Offset> FlatPartition<O> {
    #[device]
    fn partition(self, _: Arena) {
        let tile = thread::block() as usize * thread::block_size() as usize + thread::index() as usize;
        if tile > self.tiles as usize {
            return;
        }
        let GlobalPattern { row_offsets, nonzeros, rows, .. } = self.pattern;
        let nonzero = (tile as u64 * u64::from(self.tile_items)).min(nonzeros) as usize;
        let row = partition_point(0, rows, |row| row_offsets.load(row as usize + 1).to_usize() <= nonzero);
        self.tile_rows.store(tile, row);
    }
}

kernel! {
    /// Reduction: sums the products of each tile by rows, one block per tile. The sum after the last row's end is the
    /// tile's remainder. Update: adds up the rows that are cut.
    pub struct FlatTile<V: Arithmetic, O: Offset> {
        /// The matrix, as the offsets of its rows that have nonzeros, and the vectors.
        pub product: SpmvArguments<V, O>,
        /// The row of each tile's first nonzero, from [`FlatPartition`].
        pub tile_rows: Global<u32>,
        /// The element of y of each row.
        pub filled_rows: RowMap,
        /// The rows that are cut.
        pub cut_rows: CutRows,
    }
    shared: tile_bytes::<V, BLOCK>(BLOCK * ITEMS);
    body: FlatTile::tile::<BLOCK, ITEMS>;
    entries: {
        spmv_flat_tile_{V}_{O} in spmv_flat_{V}: (V, N) in [(f32, 15), (f64, 9)], O in [u32, u64], 128 x N;
        spmv_flat_tile_{V}_{O} in spmv_flat_{V}:
            (V, N) in [(Complex<f32> as c32, 9), (Complex<f64> as c64, 7)], O in [u32, u64], 128 x N;
    }
}

/// Shared memory of a tile: an element and a row's end for each of its `items`, and the scan's.
const fn tile_bytes<V: Arithmetic, const BLOCK: usize>(items: usize) -> usize {
    items * (V::SIZE + 4) + SegmentedScan::<V, BLOCK>::BYTES + LongSpan::<V, BLOCK>::BYTES
}

/// A tile's place in the matrix, and what its threads share.
struct FlatBlock<V, const BLOCK: usize, const ITEMS: usize> {
    first_row: usize,
    first_nonzero: usize,
    /// Rows that end in the tile: no more than `nonzeros`.
    rows: u32,
    nonzeros: u32,
    /// The products; then the sums of the rows that end in the tile.
    elements: Shared<V>,
    /// The row of each nonzero that is the last of its row, counted from one within the tile; zero for all others.
    row_ends: Shared<u32>,
    scan: SegmentedScan<V, BLOCK>,
    long_span: LongSpan<V, BLOCK>,
}

impl<V: Arithmetic, const BLOCK: usize, const ITEMS: usize> FlatBlock<V, BLOCK, ITEMS> {
    const LEN: usize = BLOCK * ITEMS;

    #[device]
    fn new(mut arena: Arena, tile_rows: Global<u32>, nonzeros: u64) -> Self {
        let index = thread::block() as usize;
        let first_row = tile_rows.load(index);
        let first_nonzero = index * Self::LEN;
        let left = nonzeros as usize - first_nonzero;
        Self {
            first_row: first_row as usize,
            first_nonzero,
            rows: tile_rows.load(index + 1) - first_row,
            nonzeros: left.min(Self::LEN) as u32,
            elements: arena.take(Self::LEN),
            row_ends: arena.take(Self::LEN),
            scan: SegmentedScan::take(&mut arena),
            long_span: LongSpan::take(&mut arena),
        }
    }

    /// Returns the place in the tile of a thread's item as it is loaded: consecutive threads, consecutive items.
    #[device]
    fn strided(item: usize) -> u32 {
        strided::place::<BLOCK>(item)
    }

    /// Returns the place in the tile of a thread's item as it is summed: a thread's items are consecutive.
    #[device]
    fn blocked(item: usize) -> usize {
        thread::index() as usize * ITEMS + item
    }

    /// Writes the products and the ends of rows to shared memory. All loads of an array are issued before the first is
    /// used; those past the last nonzero repeat it, and their products are zero.
    #[device]
    fn load<O: Offset>(&self, SpmvArguments { matrix, x, .. }: SpmvArguments<V, O>) {
        let column_indices = matrix.column_indices.skip(self.first_nonzero);
        let values = matrix.values.skip(self.first_nonzero);
        let columns = load_repeating::<u32, BLOCK, ITEMS>(column_indices, self.nonzeros);
        let mut products = load_repeating::<V, BLOCK, ITEMS>(values, self.nonzeros);
        self.expand_row_ends(matrix.row_offsets);
        for item in 0..ITEMS {
            products[item] = products[item] * x.load(columns[item] as usize);
        }
        for item in 0..ITEMS {
            let product = if Self::strided(item) < self.nonzeros { products[item] } else { V::ZERO };
            self.elements.store(Self::strided(item) as usize, product);
        }
    }

    /// Expands the offsets of the rows that end in the tile to one word per nonzero. It has one barrier.
    #[device]
    fn expand_row_ends<O: Offset>(&self, row_offsets: Global<O>) {
        for item in 0..ITEMS {
            self.row_ends.store(Self::strided(item) as usize, 0);
        }
        thread::barrier();
        let ends = row_offsets.skip(self.first_row + 1);
        thread::block_stride::<BLOCK>(self.rows, |row| {
            let end = ends.load_streaming(row as usize).to_usize() - self.first_nonzero;
            self.row_ends.store(end - 1, row + 1);
        });
    }

    /// Replaces the products by the sums of the rows that end in the tile, as far as they lie in it, and returns the
    /// tile's remainder. It has one barrier.
    #[device]
    fn sum_rows(&self) -> V {
        let mut sums = [V::ZERO; ITEMS];
        let mut row_ends = [0; ITEMS];
        for item in 0..ITEMS {
            sums[item] = self.elements.load(Self::blocked(item));
        }
        for item in 0..ITEMS {
            row_ends[item] = self.row_ends.load(Self::blocked(item));
        }
        let mut running = V::ZERO;
        let mut ends = 0;
        for item in 0..ITEMS {
            running += sums[item];
            sums[item] = running;
            if row_ends[item] != 0 {
                running = V::ZERO;
                ends = row_ends[item];
            }
        }
        let scanned = self.scan.exclusive(running, ends != 0);
        // After the scan's barrier, all threads have read their products.
        let mut before = scanned.before;
        for item in 0..ITEMS {
            if row_ends[item] != 0 {
                self.elements.store(row_ends[item] as usize - 1, before + sums[item]);
                before = V::ZERO;
            }
        }
        scanned.total
    }
}

impl<V: Arithmetic, O: Offset> FlatTile<V, O> {
    #[device]
    fn tile<const BLOCK: usize, const ITEMS: usize>(self, arena: Arena) {
        let Self { product, cut_rows, .. } = self;
        let tile = FlatBlock::<V, BLOCK, ITEMS>::new(arena, self.tile_rows, product.matrix.nonzeros);
        tile.load(product);
        thread::barrier();
        let remainder = tile.sum_rows();
        thread::barrier();
        let store = |row: u32, sum: V| {
            product.update.store(self.filled_rows.row(tile.first_row + row as usize), sum);
        };
        let mut row = thread::index() + u32::from(cut_rows.is_finished_by(thread::block()));
        while row < tile.rows {
            store(row, tile.elements.load(row as usize));
            row += BLOCK as u32;
        }
        cut_rows.leave(
            tile.long_span,
            thread::block(),
            || tile.elements.load(0),
            remainder,
            |sum| store(0, sum),
            |sum| store(tile.rows, sum),
        );
    }
}

kernel! {
    /// Writes the rows that have no nonzeros: one thread per row.
    pub struct FlatFillEmptyRows<V: Arithmetic, O: Offset> {
        /// The matrix, with all its rows.
        pub pattern: GlobalPattern<O>,
        /// The result, one element per row; only those of empty rows are written.
        pub update: Update<V>,
    }
    shared: 0;
    body: FlatFillEmptyRows::fill_empty_rows::<BLOCK>;
    entries: {
        spmv_flat_fill_empty_rows_{V}_{O} in spmv_flat_{V}: V in [f32, f64], O in [u32, u64], 256 x 1;
        spmv_flat_fill_empty_rows_{V}_{O} in spmv_flat_{V}: V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 256 x 1;
    }
}

impl<V: Arithmetic, O: Offset> FlatFillEmptyRows<V, O> {
    #[device]
    fn fill_empty_rows<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        if row < self.pattern.rows as usize && self.pattern.row_len(row) == 0 {
            self.update.store(row, V::ZERO);
        }
    }
}
