//! SpMV by 2D merge path (Merrill, Garland, SC 2016).
//!
//! The row ends are merged with the numbers of the nonzeros; the merge, `rows + nonzeros` long, is cut
//! into tiles of equal length, and each tile into equal shares of its threads. A row end on a share's
//! path finishes a row; nonzeros after the last row end are the share's *carry*, part of a row that a
//! later share finishes. Carries meet in fixed order, so results are the same from run to run.
//!
//! [`MergePartition`] finds where tiles begin, once per plan; [`MergeTile`] computes. The paper adds the carries of tiles
//! in a second launch; here the last tile of a row to arrive does it ([`super::FindCutRows`]).

use evenpath_simt::{device, kernel, thread, Arena, Float, Global, GlobalMut, Shared};

use super::cut_rows::{CutRows, LongSpan};
use super::path_tile::PathTile;
use super::product::SpmvArguments;
use crate::block::merge_path::search_rows;
use crate::block::segmented_scan::SegmentedScan;
use crate::update::Update;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Finds the row in which each tile begins: one thread per tile, and one for the end.
    pub struct MergePartition<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// Output: the first row of each tile, and `rows` at the end; `tiles` + 1.
        pub tile_rows: GlobalMut<u32>,
        /// Tiles.
        pub tiles: u32,
        /// Length of a tile: row ends and nonzeros.
        pub tile_items: u32,
    }
    shared: 0;
    body: MergePartition::partition;
    entry: spmv_merge_partition_{O} in spmv_plan: O in [u32, u64], 256 x 1;
}

impl<O: Offset> MergePartition<O> {
    #[device]
    fn partition(self, _: Arena) {
        let GlobalPattern { row_offsets, nonzeros, rows, .. } = self.pattern;
        let tile = thread::block() as usize * thread::block_size() as usize + thread::index() as usize;
        if tile > self.tiles as usize {
            return;
        }
        let rows = u64::from(rows);
        let diagonal = (tile as u64 * u64::from(self.tile_items)).min(rows + nonzeros);
        let row_end = |row: u64| row_offsets.load(row as usize + 1).to_usize() as u64;
        let row = search_rows(diagonal, rows, nonzeros, row_end);
        self.tile_rows.store(tile, row as u32);
    }
}

kernel! {
    /// Computes the tiles, one block each: the rows of y that end in it.
    pub struct MergeTile<V: Float, O: Offset> {
        /// The matrix and the vectors.
        pub product: SpmvArguments<V, O>,
        /// First row of each tile, from [`MergePartition`].
        pub tile_rows: Global<u32>,
        /// The rows that are cut.
        pub cut_rows: CutRows,
    }
    shared: tile_bytes::<V, BLOCK>(BLOCK * ITEMS);
    body: MergeTile::tile::<BLOCK, ITEMS>;
    entry: spmv_merge_tile_{V}_{O} in spmv_{V}: (V, R) in [(f32, 10), (f64, 0)], O in [u32, u64], 128 x 9 resident R;
}

/// Shared memory of a tile: its row ends and one more; its products and its sums, together `items`.
const fn tile_bytes<V: Float, const BLOCK: usize>(items: usize) -> usize {
    (items + 1) * (V::SIZE + 4) + SegmentedScan::<V, BLOCK>::BYTES + LongSpan::<V, BLOCK>::BYTES
}

/// A tile's place in the matrix, and what its threads share.
struct MergeBlock<V, const BLOCK: usize, const ITEMS: usize> {
    path: PathTile,
    /// Nonzeros of the tile before each row end; after the last, more than there are.
    row_ends: Shared<u32>,
    /// Products of the whole tile; those after the last nonzero are zero.
    products: Shared<V>,
    /// The sums of the rows that end in the tile.
    sums: Shared<V>,
    scan: SegmentedScan<V, BLOCK>,
    long_span: LongSpan<V, BLOCK>,
}

impl<V: Float, const BLOCK: usize, const ITEMS: usize> MergeBlock<V, BLOCK, ITEMS> {
    const LEN: usize = BLOCK * ITEMS;

    #[device]
    fn new<O: Offset>(mut arena: Arena, tile_rows: Global<u32>, pattern: GlobalPattern<O>) -> Self {
        let path = PathTile::new(thread::block() as usize, Self::LEN, tile_rows, pattern);
        let scan = SegmentedScan::take(&mut arena);
        let long_span = LongSpan::take(&mut arena);
        let row_ends = arena.take(path.rows as usize + 1);
        let products = arena.take(Self::LEN - path.rows as usize);
        let sums = arena.take(path.rows as usize);
        Self { path, row_ends, products, sums, scan, long_span }
    }

    /// Writes the tile's row ends, relative to its first nonzero, and its products to shared memory.
    ///
    /// All column indices are loaded before the row ends are waited for, and all values and
    /// elements of x before the first is used: three waits for memory instead of one per item.
    #[device]
    fn load<O: Offset>(&self, SpmvArguments { matrix, x, .. }: SpmvArguments<V, O>) {
        let path = self.path;
        let columns = path.load::<u32, BLOCK, ITEMS>(matrix.column_indices.natural());
        self.load_row_ends(matrix.row_offsets);
        let mut products = path.load::<V, BLOCK, ITEMS>(matrix.values.natural());
        if path.nonzeros > 0 {
            for item in 0..ITEMS {
                products[item] = products[item] * x.load(columns[item] as usize);
            }
        }
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < Self::LEN as u32 - path.rows {
                let product = if place < path.nonzeros { products[item] } else { V::ZERO };
                self.products.store(place as usize, product);
            }
        }
    }

    #[device]
    fn load_row_ends<O: Offset>(&self, row_offsets: Global<O>) {
        let ends = row_offsets.skip(self.path.first_row + 1);
        let mut row = thread::index();
        while row < self.path.rows {
            let end = ends.load_streaming(row as usize).to_usize() - self.path.first_nonzero;
            self.row_ends.store(row as usize, end as u32);
            row += BLOCK as u32;
        }
        if row == self.path.rows {
            self.row_ends.store(row as usize, u32::MAX);
        }
    }

    /// Writes the rows that end in the tile starting at the row `from`, with coalesced stores.
    #[device]
    fn store_rows(&self, from: u32, update: Update<V>) {
        let mut row = thread::index() + from;
        while row < self.path.rows {
            update.store(row as usize, self.sums.load(row as usize));
            row += BLOCK as u32;
        }
    }
}

impl<V: Float, O: Offset> MergeTile<V, O> {
    #[device]
    fn tile<const BLOCK: usize, const ITEMS: usize>(self, arena: Arena) {
        // 1. Write the tile's row ends and products to shared memory.
        let Self { product, cut_rows, .. } = self;
        let tile = MergeBlock::<V, BLOCK, ITEMS>::new(arena, self.tile_rows, product.matrix.pattern());
        tile.load(product);
        thread::barrier();

        // 2. Walk this thread's share of the tile's path, found as if the products filled the tile.
        let diagonal = thread::index() * ITEMS as u32;
        let filled = MergeBlock::<V, BLOCK, ITEMS>::LEN as u32 - tile.path.rows;
        let first_row = search_rows(diagonal, tile.path.rows, filled, |row| tile.row_ends.load(row as usize));
        let mut row = first_row;
        let mut nonzero = diagonal - first_row;
        let mut end = tile.row_ends.load(row as usize);
        let mut sum = V::ZERO;
        for _ in 0..ITEMS {
            if nonzero < end {
                sum += tile.products.load(nonzero as usize);
                nonzero += 1;
            } else {
                tile.sums.store(row as usize, sum);
                sum = V::ZERO;
                row += 1;
                end = tile.row_ends.load(row as usize);
            }
        }

        // 3. Add to the first row that ends in the share what the shares before have of it.
        let scanned = tile.scan.exclusive(sum, row != first_row);
        if row != first_row {
            let first = tile.sums.load(first_row as usize);
            tile.sums.store(first_row as usize, scanned.before + first);
        }
        thread::barrier();

        // 4. Store the rows that end in the tile; the rows that are cut meet with their other tiles.
        let from = u32::from(cut_rows.is_finished_by(thread::block()));
        let update = Update { y: product.update.y.skip(tile.path.first_row), ..product.update };
        tile.store_rows(from, update);
        cut_rows.leave(
            tile.long_span,
            thread::block(),
            || tile.sums.load(0),
            scanned.total,
            |sum| update.store(0, sum),
            |sum| update.store(tile.path.rows as usize, sum),
        );
    }
}
