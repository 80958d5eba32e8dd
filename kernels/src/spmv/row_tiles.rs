//! SpMV by row tiles: every warp takes equally many consecutive rows.
//!
//! For matrices whose rows are not very different in length. There is nothing to analyse but the lengths, nothing to
//! keep, and one launch.

use evenpath_simt::{kernel, thread, Arena, Float, Global, GlobalMut, Shared};

use super::row_group::{product_bytes, Columns, Matrix, Packets, RowGroup, Strided};
use crate::unroll::{unroll, Steps};
use crate::update::update;
use crate::Offset;

kernel! {
    /// Computes y = αAx + βy, each warp for 32·`ROWS` / 2^`lanes_log2` rows; its variants are the rows that a lane
    /// sums. Groups of rows with 2³² − 2¹⁰ nonzeros and more are beyond it.
    pub struct RowTiles<V: Float, O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Column indices, one a nonzero.
        pub column_indices: Global<u32>,
        /// Values, one a nonzero.
        pub values: Global<V>,
        /// The dense vector, one element a column.
        pub x: Global<V>,
        /// The result, one element a row; read only where `beta` is not zero.
        pub y: GlobalMut<V>,
        /// Rows of the matrix.
        pub rows: u32,
        /// Nonzeros of the matrix.
        pub nonzeros: u64,
        /// Binary logarithm of the lanes that sum a row; 0 for all variants but `OneRow`.
        pub lanes_log2: u32,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
    shared: product_bytes::<V>(BLOCK * ITEMS);
    body: RowTiles::row_tiles::<P, BLOCK, ITEMS>;
    entries: {
        spmv_row_tiles_1x8_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, with P = OneRow, 64 x 8 resident 16;
        spmv_row_tiles_1x12_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, with P = OneRow, 128 x 12 resident 8;
        spmv_row_tiles_2x12_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, with P = TwoRows, 128 x 12;
        spmv_row_tiles_4x4_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, with P = FourRows, 64 x 4;
        spmv_row_tiles_4x8_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, with P = FourRows, 64 x 8 resident 16;
        spmv_row_tiles_1x8_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, with P = OneRow, 64 x 8 resident 16;
        spmv_row_tiles_1x12_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, with P = OneRow, 128 x 12 resident 8;
        spmv_row_tiles_2x12_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, with P = TwoRows, 128 x 12;
        spmv_row_tiles_4x4_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, with P = FourRows, 64 x 4;
        spmv_row_tiles_4x8_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, with P = FourRows, 64 x 8 resident 16;
        spmv_row_tiles_1x5_f64_u32 in spmv_rows_f64: <V = f64, O = u32>, with P = OneRow, 128 x 5 resident 8;
        spmv_row_tiles_1x6_f64_u32 in spmv_rows_f64: <V = f64, O = u32>, with P = OneRow, 128 x 6 resident 8;
        spmv_row_tiles_2x6_f64_u32 in spmv_rows_f64: <V = f64, O = u32>, with P = TwoRows, 128 x 6 resident 8;
        spmv_row_tiles_4x4_f64_u32 in spmv_rows_f64: <V = f64, O = u32>, with P = FourRows, 64 x 4 resident 16;
        spmv_row_tiles_1x5_f64_u64 in spmv_rows_f64: <V = f64, O = u64>, with P = OneRow, 128 x 5 resident 8;
        spmv_row_tiles_1x6_f64_u64 in spmv_rows_f64: <V = f64, O = u64>, with P = OneRow, 128 x 6 resident 8;
        spmv_row_tiles_2x6_f64_u64 in spmv_rows_f64: <V = f64, O = u64>, with P = TwoRows, 128 x 6 resident 8;
        spmv_row_tiles_4x4_f64_u64 in spmv_rows_f64: <V = f64, O = u64>, with P = FourRows, 64 x 4 resident 16;
    }
}

/// How many rows a lane sums.
pub trait RowShare {
    /// Computes the rows of this thread's warp; those over the tile's limit are left out if `LIMITED`.
    fn run<
        V: Float,
        O: Offset,
        C: ColumnSource,
        const LIMITED: bool,
        const BLOCK: usize,
        const ITEMS: usize,
    >(
        tile: Tile<V, O, C>,
        products: Shared<V>,
    );
}

macro_rules! row_shares {
    ($($(#[$doc:meta])* $name:ident = $rows:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;

        impl RowShare for $name {
            #[inline(always)]
            fn run<
                V: Float,
                O: Offset,
                C: ColumnSource,
                const LIMITED: bool,
                const BLOCK: usize,
                const ITEMS: usize,
            >(
                tile: Tile<V, O, C>,
                products: Shared<V>,
            ) {
                tile.run::<$rows, LIMITED, BLOCK, ITEMS>(products);
            }
        }
    )*};
}

row_shares! {
    /// One row, or a part of one.
    OneRow = 1;
    /// Two rows.
    TwoRows = 2;
    /// Four rows.
    FourRows = 4;
}

/// What a kernel of row tiles is given.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, missing_docs)]
pub struct Tile<V, O, C = Global<u32>> {
    pub(super) matrix: Matrix<V, O, C>,
    pub(super) x: Global<V>,
    pub(super) y: GlobalMut<V>,
    /// Number of the block among those that take rows.
    pub(super) block: u32,
    pub(super) rows: u32,
    pub(super) lanes_log2: u32,
    /// Nonzeros of a row that is not left out, at most.
    pub(super) limit: u32,
    pub(super) alpha: V,
    pub(super) beta: V,
}

/// Where the columns of a matrix are, whose tiles may have them in several forms.
pub trait ColumnSource: Copy {
    /// Goes on with the columns of the rows from `first` on. What that takes is asked for before `bounds` are, and looked
    /// at behind that, so that nothing waits twice.
    fn with_columns(self, first: u32, bounds: impl FnOnce() -> (usize, usize), sums: impl SumRows);
}

/// What is done with rows whose columns are known.
pub trait SumRows {
    /// Does it.
    fn run(self, columns: impl Columns, bounds: (usize, usize));
}

impl ColumnSource for Global<u32> {
    #[inline(always)]
    fn with_columns(self, _: u32, bounds: impl FnOnce() -> (usize, usize), sums: impl SumRows) {
        sums.run(self, bounds());
    }
}

impl<V: Float, O: Offset, C: ColumnSource> Tile<V, O, C> {
    #[inline(always)]
    fn run<const ROWS: usize, const LIMITED: bool, const BLOCK: usize, const ITEMS: usize>(
        self,
        products: Shared<V>,
    ) {
        const { assert!(BLOCK.is_multiple_of(32)) };
        let count = (32 * ROWS as u32) >> self.lanes_log2;
        let warp = u64::from(self.block) * (BLOCK / 32) as u64 + u64::from(thread::warp());
        if warp * u64::from(count) >= u64::from(self.rows) {
            return;
        }
        let first = warp as u32 * count;
        let end = self.rows.min(first + count);
        let group = RowGroup::<ROWS> { first, end, lanes_log2: self.lanes_log2, limit: self.limit };
        let bounds = || group.bounds(self.matrix.row_offsets);
        let sums = GroupSums::<V, O, C, LIMITED, ROWS, ITEMS> { tile: self, group, products };
        self.matrix.column_indices.with_columns(first, bounds, sums);
    }
}

/// The sums of a group of rows, stored.
struct GroupSums<V, O, C, const LIMITED: bool, const ROWS: usize, const ITEMS: usize> {
    tile: Tile<V, O, C>,
    group: RowGroup<ROWS>,
    products: Shared<V>,
}

impl<V: Float, O: Offset, C: ColumnSource, const LIMITED: bool, const ROWS: usize, const ITEMS: usize> SumRows
    for GroupSums<V, O, C, LIMITED, ROWS, ITEMS>
{
    #[inline(always)]
    fn run(self, columns: impl Columns, bounds: (usize, usize)) {
        let Self { tile, group, products } = self;
        let Matrix { row_offsets, values, nonzeros, .. } = tile.matrix;
        let matrix = Matrix { row_offsets, column_indices: columns, values, nonzeros };
        let gather = |column: u32| tile.x.load(column as usize);
        // Wide loads in f32; in f64 they gain nothing, and lanes that gather for neighbours do.
        let sums = if V::SIZE == 4 {
            group.sums::<V, O, _, Packets, LIMITED, ITEMS>(matrix, bounds, products, gather)
        } else {
            group.sums::<V, O, _, Strided, LIMITED, ITEMS>(matrix, bounds, products, gather)
        };
        unroll::<ROWS>(&mut StoreRows::<V, O, C, LIMITED, ROWS> { tile, group, sums });
    }
}

/// Writes this lane's rows of y, a row a step.
struct StoreRows<V, O, C, const LIMITED: bool, const ROWS: usize> {
    tile: Tile<V, O, C>,
    group: RowGroup<ROWS>,
    sums: [V; ROWS],
}

impl<V: Float, O: Offset, C: Copy, const LIMITED: bool, const ROWS: usize> Steps
    for StoreRows<V, O, C, LIMITED, ROWS>
{
    #[inline(always)]
    fn step(&mut self, index: usize) {
        let row = self.group.row(index);
        if self.group.stores() && row < self.group.end && !(LIMITED && self.is_long(row)) {
            update(self.tile.y, row as usize, self.tile.alpha, self.sums[index], self.tile.beta);
        }
    }
}

impl<V: Float, O: Offset, C: Copy, const LIMITED: bool, const ROWS: usize> StoreRows<V, O, C, LIMITED, ROWS> {
    #[inline(always)]
    fn is_long(&self, row: u32) -> bool {
        let offsets = self.tile.matrix.row_offsets.skip(row as usize);
        offsets.load(1).to_usize() - offsets.load(0).to_usize() > self.tile.limit as usize
    }
}

impl<V: Float, O: Offset> RowTiles<V, O> {
    #[inline(always)]
    fn row_tiles<P: RowShare, const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let products: Shared<V> = arena.take(BLOCK * ITEMS);
        let products = products.skip(thread::warp() as usize * 32 * ITEMS);
        let matrix = Matrix {
            row_offsets: self.row_offsets,
            column_indices: self.column_indices,
            values: self.values,
            nonzeros: self.nonzeros,
        };
        let block = thread::block();
        let tile = Tile {
            matrix,
            x: self.x,
            y: self.y,
            block,
            rows: self.rows,
            lanes_log2: self.lanes_log2,
            limit: u32::MAX,
            alpha: self.alpha,
            beta: self.beta,
        };
        P::run::<V, O, Global<u32>, false, BLOCK, ITEMS>(tile, products);
    }
}
