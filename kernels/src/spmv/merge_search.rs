//! SpMV by 2D merge path without a plan, as it was published (Merrill, Garland, SC 2016): every block searches its own tile,
//! and a second launch adds the carries.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Element, GlobalMut, WidenTo};

use super::path_sums::{path_sums_bytes, PathSums};
use super::path_tile::PathTile;
use super::product::MixedArguments;
use crate::block::pair_search::PairSearch;
use crate::block::segmented_scan::SegmentedScan;
use crate::update::Update;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Finds and computes the tiles, one block each: the rows of y that end in it, without the parts of the first of them that
    /// lie in tiles before. These are carries, which [`CarryFixup`](crate::coo::CarryFixup) adds to y with a factor of 1.
    pub struct MergeSearchTile<S: Element, V: Arithmetic, O: Offset> {
        /// The matrix and the vectors.
        pub product: MixedArguments<S, V, O>,
        /// Output: the row after those that end in each tile but the last, in which the next begins.
        pub carry_rows: GlobalMut<u32>,
        /// Output: the tile's part of that row, times α; zero if the tile has none of its nonzeros.
        pub carries: GlobalMut<V>,
    }
    shared: path_sums_bytes::<V, BLOCK>(BLOCK * ITEMS) + PairSearch::<BLOCK>::BYTES;
    body: MergeSearchTile::tile::<BLOCK, ITEMS>;
    entries: {
        spmv_merge_search_{V}_{O} in spmv_direct_{V}:
            (S, V, R) in [(f32, f32, 10), (f64, f64, 0)], O in [u32, u64], 128 x 9 resident R;
        spmv_merge_search_{S}_{O} in spmv_direct_{S}:
            (S, V, R) in [(f32 as f32_f64, f64, 0)], O in [u32, u64], 128 x 9 resident R;
        spmv_merge_search_{V}_{O} in spmv_direct_{V}:
            (S, V, N) in [(Complex<f32>, Complex<f32> as c32, 9), (Complex<f64>, Complex<f64> as c64, 7)], O in [u32, u64], 128 x N;
    }
}

/// Returns a block's tile, of `len` row ends and nonzeros. The whole block searches where it begins and ends.
#[device]
pub(super) fn find_tile<O: Offset, const BLOCK: usize>(
    search: PairSearch<BLOCK>,
    pattern: GlobalPattern<O>,
    len: usize,
) -> PathTile {
    let rows = u64::from(pattern.rows);
    // Items of the path before a row's end: that ends before a diagonal if they are fewer.
    let position = |row: u64| pattern.row_offsets.load(row as usize + 1).to_usize() as u64 + row;
    let begin = u64::from(thread::block()) * len as u64;
    let end = (begin + len as u64).min(rows + pattern.nonzeros);
    let probed = PairSearch::<BLOCK>::probe(rows, position);
    let (first_row, next_row) = search.first(rows, (begin, end), probed, position);
    PathTile::between(thread::block() as usize, len, (first_row as u32, next_row as u32), pattern)
}

impl<S: WidenTo<V>, V: Arithmetic, O: Offset> MergeSearchTile<S, V, O> {
    #[device]
    fn tile<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        // 1. Find the tile, and sum the rows that end in it.
        let Self { product, carry_rows, carries } = self;
        let scan = SegmentedScan::take(&mut arena);
        let search = PairSearch::<BLOCK>::take(&mut arena);
        let path = find_tile(search, product.matrix.pattern(), BLOCK * ITEMS);
        let tile = PathSums::<V, BLOCK, ITEMS>::new(&mut arena, path, scan);
        let carry = tile.sum_rows(product);

        // 2. Store them. Of a row whose nonzeros all lie before the tile, only βy: α may be infinite.
        let update = Update { y: product.update.y.skip(path.first_row), ..product.update };
        let starts_with_end = tile.row_ends.load(0) == 0;
        let is_end_alone = starts_with_end
            && product.matrix.row_offsets.load(path.first_row).to_usize() < path.first_nonzero;
        if is_end_alone && thread::index() == 0 {
            Update { alpha: V::ZERO, ..update }.store(0, V::ZERO);
        }
        tile.store_rows(u32::from(is_end_alone), update);

        // 3. Leave the carry.
        if thread::index() == 0 && thread::block() + 1 < thread::grid_size() {
            let rows_end = if path.rows > 0 { tile.row_ends.load(path.rows as usize - 1) } else { 0 };
            let part = if rows_end < path.nonzeros { update.alpha * carry } else { V::ZERO };
            carry_rows.store(thread::block() as usize, path.first_row as u32 + path.rows);
            carries.store(thread::block() as usize, part);
        }
    }
}
