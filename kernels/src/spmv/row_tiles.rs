//! SpMV by row tiles: every warp takes equally many consecutive rows.
//!
//! For matrices whose rows are not very different in length. There is nothing to analyse but the lengths, nothing to
//! keep, and one launch.

use evenpath_simt::{kernel, thread, Arena, Float, Global, GlobalMut, Shared};

use super::row_group::{product_bytes, Matrix, RowGroup};
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
    body: row_tiles::<V, O, P, BLOCK, ITEMS>;
    entries: {
        spmv_row_tiles_1x8_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, with P = OneRow, 64 x 8;
        spmv_row_tiles_1x12_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, with P = OneRow, 128 x 12;
        spmv_row_tiles_2x12_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, with P = TwoRows, 128 x 12;
        spmv_row_tiles_4x4_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, with P = FourRows, 64 x 4;
        spmv_row_tiles_4x8_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, with P = FourRows, 64 x 8;
        spmv_row_tiles_1x8_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, with P = OneRow, 64 x 8;
        spmv_row_tiles_1x12_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, with P = OneRow, 128 x 12;
        spmv_row_tiles_2x12_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, with P = TwoRows, 128 x 12;
        spmv_row_tiles_4x4_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, with P = FourRows, 64 x 4;
        spmv_row_tiles_4x8_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, with P = FourRows, 64 x 8;
        spmv_row_tiles_1x5_f64_u32 in spmv_rows_f64: <V = f64, O = u32>, with P = OneRow, 128 x 5;
        spmv_row_tiles_1x6_f64_u32 in spmv_rows_f64: <V = f64, O = u32>, with P = OneRow, 128 x 6;
        spmv_row_tiles_2x6_f64_u32 in spmv_rows_f64: <V = f64, O = u32>, with P = TwoRows, 128 x 6;
        spmv_row_tiles_4x4_f64_u32 in spmv_rows_f64: <V = f64, O = u32>, with P = FourRows, 64 x 4;
        spmv_row_tiles_1x5_f64_u64 in spmv_rows_f64: <V = f64, O = u64>, with P = OneRow, 128 x 5;
        spmv_row_tiles_1x6_f64_u64 in spmv_rows_f64: <V = f64, O = u64>, with P = OneRow, 128 x 6;
        spmv_row_tiles_2x6_f64_u64 in spmv_rows_f64: <V = f64, O = u64>, with P = TwoRows, 128 x 6;
        spmv_row_tiles_4x4_f64_u64 in spmv_rows_f64: <V = f64, O = u64>, with P = FourRows, 64 x 4;
    }
}

/// How many rows a lane sums.
pub trait RowShare {
    /// Computes the rows of this thread's warp.
    fn run<V: Float, O: Offset, const BLOCK: usize, const ITEMS: usize>(
        tile: Tile<V, O>,
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
            fn run<V: Float, O: Offset, const BLOCK: usize, const ITEMS: usize>(tile: Tile<V, O>, products: Shared<V>) {
                tile.run::<$rows, BLOCK, ITEMS>(products);
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
pub struct Tile<V, O> {
    matrix: Matrix<V, O>,
    x: Global<V>,
    y: GlobalMut<V>,
    rows: u32,
    lanes_log2: u32,
    alpha: V,
    beta: V,
}

impl<V: Float, O: Offset> Tile<V, O> {
    #[inline(always)]
    fn run<const ROWS: usize, const BLOCK: usize, const ITEMS: usize>(self, products: Shared<V>) {
        const { assert!(BLOCK.is_multiple_of(32)) };
        let warp = thread::block() as usize * (BLOCK / 32) + thread::warp() as usize;
        let count = (32 * ROWS) >> self.lanes_log2;
        let first = warp * count;
        let rows = self.rows as usize;
        if first >= rows {
            return;
        }
        let end = if first + count < rows { first + count } else { rows };
        let group = RowGroup::<ROWS> { first, end, lanes_log2: self.lanes_log2 };
        let gather = |column: u32| self.x.load(column as usize);
        // Wide loads in f32; in f64 they gain nothing, and lanes that gather for neighbours do.
        let sums = if V::SIZE == 4 {
            group.sums::<V, O, true, false, ITEMS>(self.matrix, products, gather)
        } else {
            group.sums::<V, O, false, false, ITEMS>(self.matrix, products, gather)
        };
        for (index, sum) in sums.into_iter().enumerate() {
            let row = group.row(index);
            if group.stores() && row < end {
                store_row(self.y, row, self.alpha * sum, self.beta);
            }
        }
    }
}

/// y = `product` + βy of one row; y is read only where β is not zero.
#[inline(always)]
pub(super) fn store_row<V: Float>(y: GlobalMut<V>, row: usize, product: V, beta: V) {
    let value = if beta == V::ZERO { product } else { beta.fma(y.load(row), product) };
    y.store(row, value);
}

#[inline(always)]
fn row_tiles<V: Float, O: Offset, P: RowShare, const BLOCK: usize, const ITEMS: usize>(
    mut arena: Arena,
    row_offsets: Global<O>,
    column_indices: Global<u32>,
    values: Global<V>,
    x: Global<V>,
    y: GlobalMut<V>,
    rows: u32,
    nonzeros: u64,
    lanes_log2: u32,
    alpha: V,
    beta: V,
) {
    let products: Shared<V> = arena.take(BLOCK * ITEMS);
    let products = products.skip(thread::warp() as usize * 32 * ITEMS);
    let matrix = Matrix { row_offsets, column_indices, values, nonzeros };
    P::run::<V, O, BLOCK, ITEMS>(Tile { matrix, x, y, rows, lanes_log2, alpha, beta }, products);
}
