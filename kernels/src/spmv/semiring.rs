//! SpMV in a semiring, y = Ax or y = y + Ax, by merge path without a plan (Merrill, Garland, SC 2016): every block searches its
//! own tile, and a second launch adds the carries.
//!
//! The kernels of [`MergeSearchTile`](super::MergeSearchTile) without factors, which some semirings have no identity for.

use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Global, GlobalMut, WidenTo};

use super::merge_search::find_tile;
use super::path_sums::{path_sums_bytes, PathSums};
use super::product::MixedArguments;
use crate::block::pair_search::PairSearch;
use crate::block::segmented_scan::SegmentedScan;
use crate::coo::{fixup_bytes, CarryRuns};
use crate::semiring::{InMaxPlus, InMaxTimes, InMinFirst, InMinPlus, InOrAnd, InPlusPair, InPlusTimes};
use crate::update::Update;
use crate::{GlobalCsr, Offset};

kernel! {
    /// Finds and computes the tiles, one block each: the rows of y that end in it, without the parts of the first of them that
    /// lie in tiles before, which are carries.
    pub struct SemiringTile<V: Arithmetic, O: Offset> {
        /// The matrix A.
        pub matrix: GlobalCsr<V, O>,
        /// The dense vector x, one element per column.
        pub x: Global<V>,
        /// The result y, one element per row.
        pub y: GlobalMut<V>,
        /// Output: the row after those that end in each tile but the last, in which the next begins.
        pub carry_rows: GlobalMut<u32>,
        /// Output: the tile's part of that row; zero if the tile has none of its nonzeros.
        pub carries: GlobalMut<V>,
        /// 1 to add to y; 0 to overwrite it.
        pub adds: u32,
    }
    shared: path_sums_bytes::<V, BLOCK>(BLOCK * ITEMS) + PairSearch::<BLOCK>::BYTES;
    body: SemiringTile::tile::<BLOCK, ITEMS>;
    entries: {
        semiring_spmv_plus_times_{V}_{O} in semiring_spmv_plus_times: V in [f32, f64], O in [u32, u64], 128 x 9;
        semiring_spmv_{V}_{O} in semiring_spmv_plus_times:
            V in [InPlusTimes<u32> as plus_times_u32, InPlusTimes<u64> as plus_times_u64], O in [u32, u64], 128 x 9;
        semiring_spmv_{V}_{O} in semiring_spmv_min_plus:
            V in [InMinPlus<f32> as min_plus_f32, InMinPlus<f64> as min_plus_f64,
                InMinPlus<u32> as min_plus_u32, InMinPlus<u64> as min_plus_u64,
                InMinPlus<i32> as min_plus_i32, InMinPlus<i64> as min_plus_i64], O in [u32, u64], 128 x 9;
        semiring_spmv_{V}_{O} in semiring_spmv_max:
            V in [InMaxPlus<f32> as max_plus_f32, InMaxPlus<f64> as max_plus_f64,
                InMaxPlus<i32> as max_plus_i32, InMaxPlus<i64> as max_plus_i64,
                InMaxTimes<f32> as max_times_f32, InMaxTimes<f64> as max_times_f64], O in [u32, u64], 128 x 9;
        semiring_spmv_{V}_{O} in semiring_spmv_pattern:
            V in [InOrAnd<u32> as or_and_u32, InPlusPair<u32> as plus_pair_u32, InPlusPair<u64> as plus_pair_u64,
                InMinFirst<f32> as min_first_f32, InMinFirst<f64> as min_first_f64,
                InMinFirst<u32> as min_first_u32, InMinFirst<u64> as min_first_u64], O in [u32, u64], 128 x 9;
    }
}

impl<V: Arithmetic + WidenTo<V>, O: Offset> SemiringTile<V, O> {
    #[device]
    fn tile<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        // 1. Find the tile, and sum the rows that end in it.
        let Self { matrix, x, y, .. } = self;
        let scan = SegmentedScan::take(&mut arena);
        let search = PairSearch::<BLOCK>::take(&mut arena);
        let path = find_tile(search, matrix.pattern(), BLOCK * ITEMS);
        let tile = PathSums::<V, BLOCK, ITEMS>::new(&mut arena, path, scan);
        let carry =
            tile.sum_rows(MixedArguments { matrix, x, update: Update { y, alpha: V::ZERO, beta: V::ZERO } });

        // 2. Store them.
        let y = y.skip(path.first_row);
        let mut row = thread::index();
        while row < path.rows {
            let sum = tile.sums.load(row as usize);
            y.store(row as usize, if self.adds == 0 { sum } else { y.load(row as usize) + sum });
            row += BLOCK as u32;
        }

        // 3. Leave the carry.
        if thread::index() == 0 && thread::block() + 1 < thread::grid_size() {
            self.carry_rows.store(thread::block() as usize, path.first_row as u32 + path.rows);
            self.carries.store(thread::block() as usize, carry);
        }
    }
}

kernel! {
    /// Adds to every row the sum of its carries from [`SemiringTile`]: one thread per carry, of which the first of each row
    /// does the work.
    pub struct SemiringFixup<V: Arithmetic> {
        /// The row of each carry, in order.
        pub carry_rows: Global<u32>,
        /// The carries.
        pub carries: Global<V>,
        /// The result, one element per row.
        pub y: GlobalMut<V>,
        /// Carries.
        pub count: u32,
    }
    shared: fixup_bytes::<V>(BLOCK);
    body: SemiringFixup::fixup::<BLOCK>;
    entries: {
        semiring_spmv_fixup_plus_times_{V} in semiring_spmv_plus_times: V in [f32, f64], 256 x 1;
        semiring_spmv_fixup_{V} in semiring_spmv_plus_times:
            V in [InPlusTimes<u32> as plus_times_u32, InPlusTimes<u64> as plus_times_u64], 256 x 1;
        semiring_spmv_fixup_{V} in semiring_spmv_min_plus:
            V in [InMinPlus<f32> as min_plus_f32, InMinPlus<f64> as min_plus_f64,
                InMinPlus<u32> as min_plus_u32, InMinPlus<u64> as min_plus_u64,
                InMinPlus<i32> as min_plus_i32, InMinPlus<i64> as min_plus_i64], 256 x 1;
        semiring_spmv_fixup_{V} in semiring_spmv_max:
            V in [InMaxPlus<f32> as max_plus_f32, InMaxPlus<f64> as max_plus_f64,
                InMaxPlus<i32> as max_plus_i32, InMaxPlus<i64> as max_plus_i64,
                InMaxTimes<f32> as max_times_f32, InMaxTimes<f64> as max_times_f64], 256 x 1;
        semiring_spmv_fixup_{V} in semiring_spmv_pattern:
            V in [InOrAnd<u32> as or_and_u32, InPlusPair<u32> as plus_pair_u32, InPlusPair<u64> as plus_pair_u64,
                InMinFirst<f32> as min_first_f32, InMinFirst<f64> as min_first_f64,
                InMinFirst<u32> as min_first_u32, InMinFirst<u64> as min_first_u64], 256 x 1;
    }
}

impl<V: Arithmetic> SemiringFixup<V> {
    #[device]
    fn fixup<const BLOCK: usize>(self, arena: Arena) {
        let Self { carry_rows, carries, y, count } = self;
        CarryRuns { carry_rows, carries, count }.each_sum::<BLOCK>(arena, |row, sum| {
            y.store(row as usize, y.load(row as usize) + sum);
        });
    }
}
