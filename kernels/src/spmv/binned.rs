//! SpMV by row tiles, with long rows handled separately: one launch, in which the first blocks take pieces of long rows
//! and the others take rows.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Aligned16, Arena, Arithmetic, Global};

use super::long_rows::LongRows;
use super::product::SpmvArguments;
use super::row_group::product_bytes;
use super::row_tiles::{FourRows, OneRow, RowShare, RowTileOperands, TwoRows};
use crate::Offset;

kernel! {
    /// Computes y = αAx + βy. A warp takes a piece of a long row, or 32·`ROWS` / 2^`lanes_log2` rows, of which it skips
    /// the long ones; variants are the rows that a lane sums. Groups of rows with 2³² − 2¹² nonzeros and more are
    /// beyond it.
    pub struct BinnedRows<V: Arithmetic, O: Offset> {
        /// The matrix and the vectors.
        pub product: SpmvArguments<V, O>,
        /// The long rows.
        pub long: LongRows,
        /// log2 of the lanes per row; 0 for all variants but `OneRow`.
        pub lanes_log2: u32,
    }
    shared: product_bytes::<V>(BLOCK * ITEMS);
    body: BinnedRows::binned_rows::<P, BLOCK, ITEMS>;
    entries: {
        spmv_binned_rows_{P}x{N}_{V}_{O} in spmv_rows_{V}:
            V = f32, O in [u32, u64], (P, B, N, R) in [(OneRow as 1, 64, 8, 16), (TwoRows as 2, 128, 12, 0)], B x N resident R;
        spmv_binned_rows_{P}x{N}_{V}_{O} in spmv_rows_{V}:
            V = f64, O in [u32, u64], (P, B, N, R) in [(OneRow as 1, 128, 6, 8), (FourRows as 4, 64, 4, 16)], B x N resident R;
        spmv_binned_rows_{P}x{N}_{V}_{O} in spmv_rows_{V}:
            V = Complex<f32> as c32, O in [u32, u64], (P, B, N, R) in [(OneRow as 1, 128, 6, 8), (FourRows as 4, 64, 4, 16)], B x N resident R;
        spmv_binned_rows_{P}x{N}_{V}_{O} in spmv_rows_{V}:
            V = Complex<f64> as c64, O in [u32, u64], (P, B, N, R) in [(OneRow as 1, 128, 5, 6), (FourRows as 4, 64, 4, 10)], B x N resident R;
    }
}

impl<V: Arithmetic, O: Offset> BinnedRows<V, O> {
    #[device]
    fn binned_rows<P: RowShare, const BLOCK: usize, const ITEMS: usize>(self, arena: Arena) {
        let Self { product, long, .. } = self;
        let warps = (BLOCK / 32) as u32;
        let piece_blocks = long.pieces.div_ceil(warps);
        if thread::block() < piece_blocks {
            let piece = thread::block() * warps + thread::warp();
            if piece < long.pieces {
                long.sum_piece::<V, O, ITEMS>(product, piece);
            }
            return;
        }
        let tile = RowTileOperands {
            product,
            columns: product.matrix.column_indices,
            block: thread::block() - piece_blocks,
            lanes_log2: self.lanes_log2,
            limit: long.limit,
        };
        P::run::<V, O, Global<u32, Aligned16>, true, BLOCK, ITEMS>(tile, arena);
    }
}
