//! SpMV by row tiles, with long rows apart: one launch, in which the first blocks take pieces of long rows and the others
//! rows.

use evenpath_simt::{kernel, thread, Arena, Float, Global, GlobalMut, Shared};

use super::long_rows::LongRows;
use super::row_group::{product_bytes, Matrix};
use super::row_tiles::{FourRows, OneRow, RowShare, Tile, TwoRows};
use crate::block::tagged_sums::TaggedSums;
use crate::update::update;
use crate::Offset;

kernel! {
    /// Computes y = αAx + βy. A warp takes a piece of a long row, or 32·`ROWS` / 2^`lanes_log2` rows, of which it leaves
    /// the long ones out; variants are the rows that a lane sums. Groups of rows with 2³² − 2¹² nonzeros and more are
    /// beyond it.
    pub struct BinnedRows<V: Float, O: Offset> {
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
        /// The rows with more than `limit` nonzeros, from [`ListLongRows`](super::ListLongRows).
        pub long_rows: Global<u32>,
        /// The number of each one's first piece.
        pub first_pieces: Global<u32>,
        /// The place in the list of each piece's row, from [`NumberPieces`](super::NumberPieces).
        pub piece_rows: Global<u32>,
        /// Workspace: 64 bits a piece for each 32 of a value.
        pub sums: GlobalMut<u64>,
        /// Workspace: a word a long row, all zero before and after.
        pub arrived: GlobalMut<u32>,
        /// The number of the run, another than that of the run before with these words, and than zero.
        pub run: u32,
        /// Pieces.
        pub pieces: u32,
        /// Nonzeros of a row that is not long, at most.
        pub limit: u32,
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
    body: BinnedRows::binned_rows::<P, BLOCK, ITEMS>;
    entries: {
        spmv_binned_rows_1x8_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, with P = OneRow, 64 x 8 resident 16;
        spmv_binned_rows_2x12_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, with P = TwoRows, 128 x 12;
        spmv_binned_rows_1x8_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, with P = OneRow, 64 x 8 resident 16;
        spmv_binned_rows_2x12_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, with P = TwoRows, 128 x 12;
        spmv_binned_rows_1x6_f64_u32 in spmv_rows_f64: <V = f64, O = u32>, with P = OneRow, 128 x 6 resident 8;
        spmv_binned_rows_4x4_f64_u32 in spmv_rows_f64: <V = f64, O = u32>, with P = FourRows, 64 x 4 resident 16;
        spmv_binned_rows_1x6_f64_u64 in spmv_rows_f64: <V = f64, O = u64>, with P = OneRow, 128 x 6 resident 8;
        spmv_binned_rows_4x4_f64_u64 in spmv_rows_f64: <V = f64, O = u64>, with P = FourRows, 64 x 4 resident 16;
    }
}

impl<V: Float, O: Offset> BinnedRows<V, O> {
    #[inline(always)]
    fn binned_rows<P: RowShare, const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let Self { sums, .. } = self;
        let matrix = Matrix {
            row_offsets: self.row_offsets,
            column_indices: self.column_indices,
            values: self.values,
            nonzeros: self.nonzeros,
        };
        let warps = (BLOCK / 32) as u32;
        let piece_blocks = self.pieces.div_ceil(warps);
        if thread::block() < piece_blocks {
            let piece = thread::block() * warps + thread::warp();
            if piece < self.pieces {
                let sums = TaggedSums::new(sums, self.arrived, self.run);
                let long = LongRows {
                    rows: self.long_rows,
                    first_pieces: self.first_pieces,
                    piece_rows: self.piece_rows,
                    sums,
                };
                let store = |row: u32, sum: V| update(self.y, row as usize, self.alpha, sum, self.beta);
                long.sum_piece::<O, ITEMS>(matrix, self.x, piece, store);
            }
            return;
        }
        let products: Shared<V> = arena.take(BLOCK * ITEMS);
        let products = products.skip(thread::warp() as usize * 32 * ITEMS);
        let block = thread::block() - piece_blocks;
        let tile = Tile {
            matrix,
            x: self.x,
            y: self.y,
            block,
            rows: self.rows,
            lanes_log2: self.lanes_log2,
            limit: self.limit,
            alpha: self.alpha,
            beta: self.beta,
        };
        P::run::<V, O, Global<u32>, true, BLOCK, ITEMS>(tile, products);
    }
}
