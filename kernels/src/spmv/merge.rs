//! SpMV by 2D merge path (Merrill, Garland, SC 2016).
//!
//! The row ends are merged with the numbers of the nonzeros; the merge, `rows + nonzeros` long, is cut
//! into tiles of equal length, and each tile into equal shares of its threads. A row end on a share's
//! path finishes a row; nonzeros after the last row end are the share's *carry*, part of a row that a
//! later share finishes. Carries meet in fixed order, so results are the same from run to run.
//!
//! [`MergePartition`] finds where tiles begin, once per plan; [`MergeTile`] computes. The paper adds the carries of tiles
//! in a second launch; here the last tile of a row to arrive does it ([`super::FindCutRows`]). Without a plan both are as in
//! the paper ([`super::MergeSearchTile`]).

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Element, Global, GlobalMut, WidenTo};

use super::cut_rows::{CutRows, LongSpan};
use super::path_sums::{path_sums_bytes, PathSums};
use super::path_tile::PathTile;
use super::product::MixedArguments;
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
    pub struct MergeTile<S: Element, V: Arithmetic, O: Offset> {
        /// The matrix and the vectors.
        pub product: MixedArguments<S, V, O>,
        /// First row of each tile, from [`MergePartition`].
        pub tile_rows: Global<u32>,
        /// The rows that are cut.
        pub cut_rows: CutRows,
    }
    shared: tile_bytes::<V, BLOCK>(BLOCK * ITEMS);
    body: MergeTile::tile::<BLOCK, ITEMS>;
    entries: {
        spmv_merge_tile_{V}_{O} in spmv_{V}:
            (S, V, R) in [(f32, f32, 10), (f64, f64, 0)], O in [u32, u64], 128 x 9 resident R;
        spmv_merge_tile_{S}_{O} in spmv_{S}:
            (S, V, R) in [(f32 as f32_f64, f64, 0)], O in [u32, u64], 128 x 9 resident R;
        spmv_merge_tile_{V}_{O} in spmv_{V}:
            (S, V, N) in [(Complex<f32>, Complex<f32> as c32, 9), (Complex<f64>, Complex<f64> as c64, 7)], O in [u32, u64], 128 x N;
    }
}

/// Shared memory of a tile.
const fn tile_bytes<V: Arithmetic, const BLOCK: usize>(items: usize) -> usize {
    path_sums_bytes::<V, BLOCK>(items) + LongSpan::<V, BLOCK>::BYTES
}

impl<S: WidenTo<V>, V: Arithmetic, O: Offset> MergeTile<S, V, O> {
    #[device]
    fn tile<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        // 1. Sum the rows that end in the tile.
        let Self { product, cut_rows, .. } = self;
        let tile = thread::block() as usize;
        let path = PathTile::new(tile, BLOCK * ITEMS, self.tile_rows, product.matrix.pattern());
        let scan = SegmentedScan::take(&mut arena);
        let long_span = LongSpan::<V, BLOCK>::take(&mut arena);
        let tile = PathSums::<V, BLOCK, ITEMS>::new(&mut arena, path, scan);
        let carry = tile.sum_rows(product);

        // 2. Store them; the rows that are cut meet with their other tiles.
        let from = u32::from(cut_rows.is_finished_by(thread::block()));
        let update = Update { y: product.update.y.skip(tile.path.first_row), ..product.update };
        tile.store_rows(from, update);
        cut_rows.leave(
            long_span,
            thread::block(),
            || tile.sums.load(0),
            carry,
            |sum| update.store(0, sum),
            |sum| update.store(tile.path.rows as usize, sum),
        );
    }
}
