//! Long rows: their pieces are summed separately, and then added up in order.

use evenpath_simt::half::{bf16, f16};
use evenpath_simt::{kernel, thread, Arena, Element, Global, GlobalMut, Shared, Stored};

use super::group::{DenseRows, Group, InGlobal};
use super::update::DenseUpdate;
use super::width::{Elements, Packets, Width};
use crate::{CsrView, Offset};

kernel! {
    /// Sums the pieces of long rows: one warp per piece and tile of columns, blocks of one tile of columns after another.
    /// Its variants are those of [`SpmmRows`](super::SpmmRows).
    pub struct SpmmPieces<S: Stored, T: Stored, O: Offset> {
        /// A.
        pub matrix: CsrView<S, O>,
        /// B.
        pub b: DenseRows<T>,
        /// The row of each piece.
        pub piece_rows: Global<u32>,
        /// The number of each piece within its row.
        pub piece_ranks: Global<u32>,
        /// Output: the pieces' sums, `pieces` x `columns`, by rows.
        pub sums: GlobalMut<<S as Stored>::Compute>,
        /// Pieces.
        pub pieces: u32,
        /// Columns of B and of the sums.
        pub columns: u32,
        /// The most nonzeros of a piece.
        pub longest: u32,
        /// [`Group::columns_log2`]; the rest of the warp are nonzeros side by side.
        pub columns_log2: u32,
    }
    shared: 0;
    body: SpmmPieces::sum_pieces::<P, BLOCK>;
    entries: {
        spmm_pieces_f32_u32 in spmm_f32: <S = f32, T = f32, O = u32>, with P = Packets, 128 x 1 resident 10;
        spmm_pieces_f32_u64 in spmm_f32: <S = f32, T = f32, O = u64>, with P = Packets, 128 x 1 resident 10;
        spmm_pieces_f64_u32 in spmm_f64: <S = f64, T = f64, O = u32>, with P = Packets, 128 x 1 resident 10;
        spmm_pieces_f64_u64 in spmm_f64: <S = f64, T = f64, O = u64>, with P = Packets, 128 x 1 resident 10;
        spmm_pieces_f16_u32 in spmm_f16: <S = f16, T = f16, O = u32>, with P = Packets, 128 x 1 resident 10;
        spmm_pieces_f16_u64 in spmm_f16: <S = f16, T = f16, O = u64>, with P = Packets, 128 x 1 resident 10;
        spmm_pieces_f16_f32_u32 in spmm_f16_f32: <S = f16, T = f32, O = u32>, with P = Packets, 128 x 1 resident 10;
        spmm_pieces_f16_f32_u64 in spmm_f16_f32: <S = f16, T = f32, O = u64>, with P = Packets, 128 x 1 resident 10;
        spmm_pieces_bf16_u32 in spmm_bf16: <S = bf16, T = bf16, O = u32>, with P = Packets, 128 x 1 resident 10;
        spmm_pieces_bf16_u64 in spmm_bf16: <S = bf16, T = bf16, O = u64>, with P = Packets, 128 x 1 resident 10;
        spmm_pieces_bf16_f32_u32 in spmm_bf16_f32: <S = bf16, T = f32, O = u32>, with P = Packets, 128 x 1 resident 10;
        spmm_pieces_bf16_f32_u64 in spmm_bf16_f32: <S = bf16, T = f32, O = u64>, with P = Packets, 128 x 1 resident 10;
        spmm_piece_elements_f32_u32 in spmm_f32: <S = f32, T = f32, O = u32>, with P = Elements, 128 x 1 resident 10;
        spmm_piece_elements_f32_u64 in spmm_f32: <S = f32, T = f32, O = u64>, with P = Elements, 128 x 1 resident 10;
        spmm_piece_elements_f64_u32 in spmm_f64: <S = f64, T = f64, O = u32>, with P = Elements, 128 x 1 resident 10;
        spmm_piece_elements_f64_u64 in spmm_f64: <S = f64, T = f64, O = u64>, with P = Elements, 128 x 1 resident 10;
        spmm_piece_elements_f16_u32 in spmm_f16: <S = f16, T = f16, O = u32>, with P = Elements, 128 x 1 resident 10;
        spmm_piece_elements_f16_u64 in spmm_f16: <S = f16, T = f16, O = u64>, with P = Elements, 128 x 1 resident 10;
        spmm_piece_elements_f16_f32_u32 in spmm_f16_f32: <S = f16, T = f32, O = u32>, with P = Elements, 128 x 1 resident 10;
        spmm_piece_elements_f16_f32_u64 in spmm_f16_f32: <S = f16, T = f32, O = u64>, with P = Elements, 128 x 1 resident 10;
        spmm_piece_elements_bf16_u32 in spmm_bf16: <S = bf16, T = bf16, O = u32>, with P = Elements, 128 x 1 resident 10;
        spmm_piece_elements_bf16_u64 in spmm_bf16: <S = bf16, T = bf16, O = u64>, with P = Elements, 128 x 1 resident 10;
        spmm_piece_elements_bf16_f32_u32 in spmm_bf16_f32: <S = bf16, T = f32, O = u32>, with P = Elements, 128 x 1 resident 10;
        spmm_piece_elements_bf16_f32_u64 in spmm_bf16_f32: <S = bf16, T = f32, O = u64>, with P = Elements, 128 x 1 resident 10;
    }
}

impl<S: Stored, T: Stored<Compute = S::Compute>, O: Offset> SpmmPieces<S, T, O> {
    #[inline(always)]
    fn sum_pieces<W: Width, const BLOCK: usize>(self, _: Arena) {
        let group = Group { columns_log2: self.columns_log2, side_log2: 5 - self.columns_log2 };
        let block_pieces = BLOCK as u32 / thread::WARP_SIZE;
        let piece_blocks = self.pieces.div_ceil(block_pieces);
        let tile = thread::block() / piece_blocks;
        let piece = (thread::block() - tile * piece_blocks) as usize * block_pieces as usize
            + thread::warp() as usize;
        let tile_column = (tile << self.columns_log2) * W::len::<T>() as u32;
        let own_column = group.column_lane() * W::len::<T>() as u32;
        let has_columns = tile_column + own_column < self.columns;

        let CsrView { column_indices, values, .. } = self.matrix;
        let mut stretch = InGlobal { column_indices, values, len: 0 };
        if piece < self.pieces as usize {
            let row = self.piece_rows.load(piece) as usize;
            let begin = self.matrix.row_offsets.load(row).to_usize()
                + self.piece_ranks.load(piece) as usize * self.longest as usize;
            let left = self.matrix.row_offsets.load(row + 1).to_usize() - begin;
            let len = if left < self.longest as usize { left as u32 } else { self.longest };
            stretch =
                InGlobal { column_indices: column_indices.skip(begin), values: values.skip(begin), len };
        }
        let lane_column = tile_column + if has_columns { own_column } else { 0 };
        let lane_b = self.b.skip_columns(lane_column);
        let mut lane_sums = group.sum::<W, S, T>(stretch, lane_b);
        group.reduce::<W, T>(&mut lane_sums);
        if piece < self.pieces as usize && has_columns && group.side() == 0 {
            let sums = self.sums.skip(piece * self.columns as usize + (tile_column + own_column) as usize);
            for at in 0..W::len::<T>() {
                sums.store(at, lane_sums[at]);
            }
        }
    }
}

/// Consecutive columns of C that a block of [`SpmmFinish`] computes.
pub const FINISH_COLUMNS: u32 = 32;

kernel! {
    /// Adds up the pieces of each long row and writes the row of C: one block per row and [`FINISH_COLUMNS`] columns. Warp
    /// w of n adds up pieces w, w + n, w + 2n, …; then the warps' sums are added in order.
    pub struct SpmmFinish<T: Stored> {
        /// The pieces' sums, from [`SpmmPieces`].
        pub sums: Global<<T as Stored>::Compute>,
        /// The long rows.
        pub long_rows: Global<u32>,
        /// The first piece of each long row.
        pub first_pieces: Global<u32>,
        /// The number of each piece within its row.
        pub piece_ranks: Global<u32>,
        /// C, by rows or by columns.
        pub update: DenseUpdate<T>,
        /// Long rows.
        pub long_count: u32,
        /// Pieces.
        pub pieces: u32,
        /// Columns of C.
        pub columns: u32,
        /// Elements from a row of C to the next.
        pub c_row_stride: u64,
        /// Elements from a column of C to the next.
        pub c_column_stride: u64,
    }
    shared: BLOCK * <<T as Stored>::Compute as Element>::SIZE;
    body: SpmmFinish::finish::<BLOCK>;
    entries: {
        spmm_finish_f32 in spmm_f32: <T = f32>, 256 x 1;
        spmm_finish_f64 in spmm_f64: <T = f64>, 256 x 1;
        spmm_finish_f16 in spmm_f16: <T = f16>, 256 x 1;
        spmm_finish_bf16 in spmm_bf16: <T = bf16>, 256 x 1;
    }
}

/// Sums that a lane loads before it adds the first.
const IN_FLIGHT: usize = 4;

impl<T: Stored> SpmmFinish<T> {
    #[inline(always)]
    fn finish<const BLOCK: usize>(self, mut arena: Arena) {
        let warps = BLOCK / thread::WARP_SIZE as usize;
        let partials: Shared<T::Compute> = arena.take(BLOCK);
        let tile = thread::block() / self.long_count;
        let slot = (thread::block() - tile * self.long_count) as usize;
        let column = (tile * FINISH_COLUMNS + thread::lane()) as usize;
        let mut sum = T::Compute::ZERO;
        if column < self.columns as usize {
            let mut piece = self.first_pieces.load(slot) as usize + thread::warp() as usize;
            let first = self.first_pieces.load(slot) as usize;
            // Ranks grow from zero within a row, so the row ends where they no longer do.
            let of_row = |piece: usize| {
                piece < self.pieces as usize && self.piece_ranks.load(piece) as usize == piece - first
            };
            let mut is_row = of_row(piece);
            while is_row {
                let mut loaded = [T::Compute::ZERO; IN_FLIGHT];
                for round in 0..IN_FLIGHT {
                    let at = piece + round * warps;
                    is_row = is_row && of_row(at);
                    loaded[round] = self.sums.load_if(at * self.columns as usize + column, is_row);
                }
                for round in 0..IN_FLIGHT {
                    sum += loaded[round];
                }
                piece += IN_FLIGHT * warps;
                is_row = is_row && of_row(piece);
            }
        }
        partials.store(thread::index() as usize, sum);
        thread::barrier();
        if thread::warp() == 0 && column < self.columns as usize {
            let mut warp = 1;
            while warp < warps {
                sum += partials.load(warp * thread::WARP_SIZE as usize + thread::lane() as usize);
                warp += 1;
            }
            let row = self.long_rows.load(slot) as usize;
            let index = row * self.c_row_stride as usize + column * self.c_column_stride as usize;
            let old = self.update.load(index);
            self.update.c.store(index, self.update.combine(sum, old));
        }
    }
}
