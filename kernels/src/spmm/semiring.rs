//! SpMM in a semiring, C = AB or C = C + AB: tiles of the merge of row ends and nonzeros, so that rows of any length are equal work, with
//! lanes over the columns of B and C.
//!
//! A tile that ends inside a row leaves a carry for each column, and a second launch adds them up. There are no factors, which
//! some semirings have no identity for.

use evenpath_simt::{
    device, kernel, parameters, thread, Arena, Arithmetic, Element, Global, GlobalMut, Shared,
};

use crate::semiring::{InMaxPlus, InMaxTimes, InMinFirst, InMinPlus, InOrAnd, InPlusPair, InPlusTimes};
use crate::{GlobalCsr, Offset};

/// Nonzeros that a lane loads before it uses the first.
const IN_FLIGHT: usize = 4;

/// Lanes over columns in [`SemiringCarries`]; a block takes as many columns at a time.
const CARRY_LANES: u32 = 32;

parameters! {
    /// The result C, stored by rows or by columns.
    pub struct SemiringResult<V: Element> {
        /// Its elements.
        pub values: GlobalMut<V>,
        /// Elements from a row to the next.
        pub row_stride: u64,
        /// Elements from a column to the next.
        pub column_stride: u64,
        /// Columns.
        pub columns: u32,
    }
}

impl<V: Arithmetic> SemiringResult<V> {
    /// Stores an element, or adds to it.
    #[device(track_caller)]
    fn update(self, row: usize, column: u32, sum: V, adds: bool) {
        let at = row * self.row_stride as usize + column as usize * self.column_stride as usize;
        self.values.store(at, if adds { self.values.load(at) + sum } else { sum });
    }
}

parameters! {
    /// The dense operand B, stored by rows or by columns.
    pub struct SemiringOperand<V: Element> {
        /// Its elements.
        pub values: Global<V>,
        /// Elements from a row to the next.
        pub row_stride: u64,
        /// Elements from a column to the next.
        pub column_stride: u64,
    }
}

parameters! {
    /// A division of the merge of row ends and nonzeros into tiles.
    pub struct SemiringTiles {
        /// First row of each tile, and the number of rows at the end.
        pub rows: Global<u32>,
        /// Tiles.
        pub count: u32,
        /// Row ends plus nonzeros of a tile.
        pub items: u32,
    }
}

kernel! {
    /// Computes the rows of C that end in each tile, without what tiles before have of the first: one group of lanes per tile and
    /// `1 << lanes_log2` columns.
    pub struct SemiringSpmm<V: Arithmetic, O: Offset> {
        /// The matrix A.
        pub matrix: GlobalCsr<V, O>,
        /// The tiles.
        pub tiles: SemiringTiles,
        /// B.
        pub b: SemiringOperand<V>,
        /// C.
        pub c: SemiringResult<V>,
        /// Output: for each tile but the last and each column, the tile's part of the row that goes on in the next.
        pub carries: GlobalMut<V>,
        /// log2 of the lanes of a tile; at most 5.
        pub lanes_log2: u32,
        /// 1 to add to C; 0 to overwrite it.
        pub adds: u32,
    }
    shared: 0;
    body: SemiringSpmm::multiply::<BLOCK>;
    entries: {
        semiring_spmm_plus_times_{V}_{O} in semiring_spmm_plus_times: V in [f32, f64], O in [u32, u64], 128 x 1;
        semiring_spmm_{V}_{O} in semiring_spmm_plus_times:
            V in [InPlusTimes<u32> as plus_times_u32, InPlusTimes<u64> as plus_times_u64], O in [u32, u64], 128 x 1;
        semiring_spmm_{V}_{O} in semiring_spmm_min_plus:
            V in [InMinPlus<f32> as min_plus_f32, InMinPlus<f64> as min_plus_f64,
                InMinPlus<u32> as min_plus_u32, InMinPlus<u64> as min_plus_u64,
                InMinPlus<i32> as min_plus_i32, InMinPlus<i64> as min_plus_i64], O in [u32, u64], 128 x 1;
        semiring_spmm_{V}_{O} in semiring_spmm_max:
            V in [InMaxPlus<f32> as max_plus_f32, InMaxPlus<f64> as max_plus_f64,
                InMaxPlus<i32> as max_plus_i32, InMaxPlus<i64> as max_plus_i64,
                InMaxTimes<f32> as max_times_f32, InMaxTimes<f64> as max_times_f64], O in [u32, u64], 128 x 1;
        semiring_spmm_{V}_{O} in semiring_spmm_pattern:
            V in [InOrAnd<u32> as or_and_u32, InPlusPair<u32> as plus_pair_u32, InPlusPair<u64> as plus_pair_u64,
                InMinFirst<f32> as min_first_f32, InMinFirst<f64> as min_first_f64,
                InMinFirst<u32> as min_first_u32, InMinFirst<u64> as min_first_u64], O in [u32, u64], 128 x 1;
    }
}

impl<V: Arithmetic, O: Offset> SemiringSpmm<V, O> {
    #[device]
    fn multiply<const BLOCK: usize>(self, _: Arena) {
        // 1. Find the tile and the column.
        let Self { matrix, tiles, c, .. } = self;
        let block_tiles = BLOCK as u32 >> self.lanes_log2;
        let blocks = tiles.count.div_ceil(block_tiles);
        let column_tile = thread::block() / blocks;
        let block = thread::block() - column_tile * blocks;
        let tile = (block * block_tiles + (thread::index() >> self.lanes_log2)) as usize;
        let lane = thread::index() & ((1 << self.lanes_log2) - 1);
        let column = (column_tile << self.lanes_log2) + lane;
        if tile >= tiles.count as usize || column >= c.columns {
            return;
        }

        // 2. Sum the rows that end in it.
        let (mut row, next_row) = (tiles.rows.load(tile) as usize, tiles.rows.load(tile + 1) as usize);
        let mut entry = tile * tiles.items as usize - row;
        while row < next_row {
            let end = matrix.row_offsets.load(row + 1).to_usize();
            c.update(row, column, self.sum(entry, end, column), self.adds != 0);
            (row, entry) = (row + 1, end);
        }

        // 3. Leave the carry.
        if tile + 1 < tiles.count as usize {
            let end = (tile + 1) * tiles.items as usize - next_row;
            let carry = self.sum(entry, end, column);
            self.carries.store(tile * c.columns as usize + column as usize, carry);
        }
    }

    /// Sums the products of nonzeros with their elements of a column of B.
    #[device]
    fn sum(self, begin: usize, end: usize, column: u32) -> V {
        let Self { matrix, b, .. } = self;
        let element = |row: u32| {
            b.values.load(row as usize * b.row_stride as usize + column as usize * b.column_stride as usize)
        };
        let (mut at, mut sum) = (begin, V::ZERO);
        while end - at >= IN_FLIGHT {
            let (mut rows, mut values) = ([0; IN_FLIGHT], [V::ZERO; IN_FLIGHT]);
            for item in 0..IN_FLIGHT {
                rows[item] = matrix.column_indices.load(at + item);
                values[item] = matrix.values.load(at + item);
            }
            let mut elements = [V::ZERO; IN_FLIGHT];
            for item in 0..IN_FLIGHT {
                elements[item] = element(rows[item]);
            }
            for item in 0..IN_FLIGHT {
                sum = values[item].fma(elements[item], sum);
            }
            at += IN_FLIGHT;
        }
        while at < end {
            sum = matrix.values.load(at).fma(element(matrix.column_indices.load(at)), sum);
            at += 1;
        }
        sum
    }
}

kernel! {
    /// Adds the carries of [`SemiringSpmm`] to C: one block per tile, which does the row that ends in it and began before.
    pub struct SemiringCarries<V: Arithmetic, O: Offset> {
        /// The row offsets of A.
        pub row_offsets: Global<O>,
        /// The tiles.
        pub tiles: SemiringTiles,
        /// The carries.
        pub carries: Global<V>,
        /// C.
        pub c: SemiringResult<V>,
    }
    shared: BLOCK * V::SIZE;
    body: SemiringCarries::add_carries::<BLOCK>;
    entries: {
        semiring_spmm_carries_plus_times_{V}_{O} in semiring_spmm_plus_times: V in [f32, f64], O in [u32, u64], 256 x 1;
        semiring_spmm_carries_{V}_{O} in semiring_spmm_plus_times:
            V in [InPlusTimes<u32> as plus_times_u32, InPlusTimes<u64> as plus_times_u64], O in [u32, u64], 256 x 1;
        semiring_spmm_carries_{V}_{O} in semiring_spmm_min_plus:
            V in [InMinPlus<f32> as min_plus_f32, InMinPlus<f64> as min_plus_f64,
                InMinPlus<u32> as min_plus_u32, InMinPlus<u64> as min_plus_u64,
                InMinPlus<i32> as min_plus_i32, InMinPlus<i64> as min_plus_i64], O in [u32, u64], 256 x 1;
        semiring_spmm_carries_{V}_{O} in semiring_spmm_max:
            V in [InMaxPlus<f32> as max_plus_f32, InMaxPlus<f64> as max_plus_f64,
                InMaxPlus<i32> as max_plus_i32, InMaxPlus<i64> as max_plus_i64,
                InMaxTimes<f32> as max_times_f32, InMaxTimes<f64> as max_times_f64], O in [u32, u64], 256 x 1;
        semiring_spmm_carries_{V}_{O} in semiring_spmm_pattern:
            V in [InOrAnd<u32> as or_and_u32, InPlusPair<u32> as plus_pair_u32, InPlusPair<u64> as plus_pair_u64,
                InMinFirst<f32> as min_first_f32, InMinFirst<f64> as min_first_f64,
                InMinFirst<u32> as min_first_u32, InMinFirst<u64> as min_first_u64], O in [u32, u64], 256 x 1;
    }
}

impl<V: Arithmetic, O: Offset> SemiringCarries<V, O> {
    #[device]
    fn add_carries<const BLOCK: usize>(self, mut arena: Arena) {
        let Self { tiles, c, .. } = self;
        let (tile, items) = (thread::block() as usize, tiles.items as usize);
        let (row, next_row) = (tiles.rows.load(tile) as usize, tiles.rows.load(tile + 1) as usize);
        let begin = self.row_offsets.load(row).to_usize();
        // The same for all threads of the block.
        if next_row == row || begin >= tile * items - row {
            return;
        }
        let first = (begin + row) / items;
        let (lane, part) = (thread::index() % CARRY_LANES, thread::index() / CARRY_LANES);
        let parts = BLOCK as u32 / CARRY_LANES;
        let sums: Shared<V> = arena.take(BLOCK);
        let mut column = lane;
        while column - lane < c.columns {
            let mut sum = V::ZERO;
            let mut other = first + part as usize;
            while other < tile && column < c.columns {
                sum += self.carries.load(other * c.columns as usize + column as usize);
                other += parts as usize;
            }
            sums.store(thread::index() as usize, sum);
            thread::barrier();
            if part == 0 && column < c.columns {
                for other in 1..parts {
                    sum += sums.load((other * CARRY_LANES + lane) as usize);
                }
                c.update(row, column, sum, true);
            }
            // The next columns use the same memory.
            thread::barrier();
            column += CARRY_LANES;
        }
    }
}
