//! The product: pieces of long rows, and one group of lanes for each other row.
//!
//! 1. A block finds its tile of columns, and whether it sums pieces or rows (`multiply`).
//! 2. A group of lanes finds its row (`row`), or its piece of one.
//! 3. It sums the row (`Group::sum`). Each lane sums its columns over the nonzeros of its side. Nonzeros come from
//!    shared memory, where the block stages them all (`sum_with_block`), or each group a part at a time
//!    (`sum_in_stages`).
//! 4. Lanes that have the same columns add up their sums (`Group::reduce`); so do warps, where a group has several.
//! 5. The group stores the row: of a C by rows directly, of a C by columns through shared memory.
//!
//! Pieces are summed likewise (`piece_sums`), and several short rows at once in passes (`passes`).

use core::ops::Range;

use evenpath_simt::half::{bf16, f16};
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Element, Stored, WidenTo};

use super::group::{DenseView, Group, LaneSums};
use super::nonzeros::{InGlobal, InShared};
use super::pieces::{Pieces, FLAG_BYTES};
use super::stage::{stage, staged, staged_apart, sum_in_stages};
use super::tile_of_c::TileOfC;
use super::update::DenseUpdate;
use super::variant::{
    ElementPieces, PacketPassPieces, PacketPasses, PacketPieces, PacketStagePieces, PacketStages,
    StridedPieces, Variant,
};
use super::width::{width, Elements, Packets, Width};
use crate::{GlobalCsr, Offset};

kernel! {
    /// C = αAB + βC: one group of lanes per row and tile of columns, and for each piece of a long row. Blocks are
    /// ordered by tile of columns, and those of the pieces come first in each. Its variants are the widths: [`Packets`]
    /// where rows of B and C begin at multiples of 16 bytes and `columns` is as many bytes, [`Strided`] for a B by
    /// columns where their number is a multiple of a lane's, [`Elements`] elsewhere; each for a matrix that may have
    /// pieces, which costs registers, and the first and the last also for one that has none. [`InStages`] is the first
    /// for blocks whose nonzeros may be too many for their shared memory, [`InPasses`] for short rows.
    pub struct SpmmRows<S: Element, T: Stored, O: Offset> {
        /// A.
        pub matrix: GlobalCsr<S, O>,
        /// B.
        pub b: DenseView<T>,
        /// C, by rows or by columns.
        pub update: DenseUpdate<T>,
        /// Columns of B and C.
        pub columns: u32,
        /// Elements from a row of C to the next; where C is stored by columns, from a column to the next.
        pub c_stride: u64,
        /// Not zero if C is stored by columns.
        pub c_by_columns: u32,
        /// The most nonzeros of a row that is not long.
        pub longest: u32,
        /// The lanes of a row, at most a warp; or a block, if C is by rows and rows are neither in stages nor in passes.
        pub group: Group,
        /// log2 of the rows that a group sums [in passes](InPasses), at most that of its lanes; else 0.
        pub passes_log2: u32,
        /// Blocks of a tile of columns for all rows; none in a launch for the pieces alone.
        pub row_blocks: u32,
        /// The long rows.
        pub pieces: Pieces,
    }
    shared: shared_bytes::<S, T, P>(BLOCK);
    body: SpmmRows::multiply::<P, BLOCK>;
    entries: {
        spmm_{P}_{S}_{O} in spmm_{S}:
            (S, T) in [(f32, f32), (f64, f64), (f16 as f16_f32, f32), (bf16 as bf16_f32, f32)],
            (P, R) in [
                (Packets as rows, 10), (PacketPasses as passes, 10), (PacketPassPieces as pass_pieces, 8),
                (PacketStages as stages, 8), (PacketStagePieces as stage_pieces, 8), (Elements as row_elements, 10),
                (PacketPieces as pieces, 8), (ElementPieces as pieces_elements, 8), (StridedPieces as pieces_strided, 8),
            ], O in [u32, u64], 128 x 1 resident R;
        spmm_{P}_{S}_{O} in spmm_{S}:
            S = f16, T = f16,
            (P, R) in [
                (Packets as rows, 9), (PacketPasses as passes, 10), (PacketPassPieces as pass_pieces, 8),
                (PacketStages as stages, 8), (PacketStagePieces as stage_pieces, 8), (Elements as row_elements, 10),
                (PacketPieces as pieces, 8), (ElementPieces as pieces_elements, 8), (StridedPieces as pieces_strided, 8),
            ], O in [u32, u64], 128 x 1 resident R;
        spmm_{P}_{S}_{O} in spmm_{S}:
            S = bf16, T = bf16,
            (P, R) in [
                (Packets as rows, 10), (PacketPasses as passes, 10), (PacketPassPieces as pass_pieces, 8),
                (PacketStages as stages, 7), (PacketStagePieces as stage_pieces, 7), (Elements as row_elements, 10),
                (PacketPieces as pieces, 8), (ElementPieces as pieces_elements, 8), (StridedPieces as pieces_strided, 8),
            ], O in [u32, u64], 128 x 1 resident R;
        spmm_{P}_{S}_{O} in spmm_{S}:
            S = f32 as f32_f64, T = f64,
            (P, R) in [
                (Packets as rows, 10), (PacketPasses as passes, 10), (PacketPassPieces as pass_pieces, 8),
                (PacketStages as stages, 8), (PacketStagePieces as stage_pieces, 8), (Elements as row_elements, 10),
                (PacketPieces as pieces, 8), (ElementPieces as pieces_elements, 8), (StridedPieces as pieces_strided, 8),
            ], O in [u32, u64], 128 x 1 resident R;
        spmm_{P}_{S}_{O} in spmm_{S}:
            S = Complex<f32> as c32, T = Complex<f32>,
            P in [PacketPieces as pieces, ElementPieces as pieces_elements, StridedPieces as pieces_strided],
            O in [u32, u64], 128 x 1;
        spmm_{P}_{S}_{O} in spmm_{S}:
            S = Complex<f64> as c64, T = Complex<f64>,
            P in [PacketPieces as pieces, StridedPieces as pieces_strided], O in [u32, u64], 128 x 1;
    }
}

/// Shared memory of a block: first its nonzeros, and the ends of its rows or, with pieces, a flag per piece; then its tile of C, with
/// one more row per column, against bank conflicts, and a flag per row, or the sums of the warps.
const fn shared_bytes<S: Element, T: Stored, P: Variant>(block: usize) -> usize {
    let places = if P::IN_STAGES { staged_apart(block) } else { staged(block) };
    // Rows and pieces do not need theirs at the same time, and flags are fewer.
    let others = if P::IN_PASSES {
        block * 4
    } else if P::HAS_PIECES {
        FLAG_BYTES
    } else {
        0
    };
    let nonzeros = places * (4 + S::SIZE) + others;
    let part = (block + thread::WARP_SIZE as usize) * width::<T, P::Width>() * <T::Compute as Element>::SIZE
        + block * 4;
    if nonzeros > part {
        nonzeros
    } else {
        part
    }
}

impl<S: WidenTo<T::Compute>, T: Stored, O: Offset> SpmmRows<S, T, O> {
    #[device]
    fn multiply<P: Variant, const BLOCK: usize>(self, arena: Arena) {
        // 1. Find the block's tile of columns.
        let piece_blocks = if P::HAS_PIECES { self.pieces.blocks::<BLOCK>() } else { 0 };
        let tile_blocks = piece_blocks + self.row_blocks;
        let tile = thread::block() / tile_blocks;
        let block = thread::block() - tile * tile_blocks;
        let width = P::Width::len::<T>() as u32;
        let of_tile = (tile << self.group.columns_log2) * width;
        // The lanes of a piece are laid over columns as those of a row are.
        let own = self.group.column_lane() * width;
        let lane = LaneColumns { tile, of_tile, own, is_inside: of_tile + own < self.columns };
        if P::HAS_PIECES && block < piece_blocks {
            self.multiply_piece::<P::Width, BLOCK>(arena, lane, block);
        } else if P::IN_PASSES {
            self.multiply_in_passes::<P::Width, BLOCK>(arena, lane, block - piece_blocks);
        } else {
            self.multiply_row::<P, BLOCK>(arena, lane, block - piece_blocks);
        }
    }

    #[device]
    fn multiply_row<P: Variant, const BLOCK: usize>(self, arena: Arena, lane: LaneColumns, block: u32) {
        let Self { matrix, group, .. } = self;
        // 2. Find the group's row.
        let block_rows = BLOCK >> group.lanes_log2();
        let first_row = block as usize * block_rows;
        let row = first_row + group.index() as usize;
        let (begin, len, is_kept) = self.row(row);
        // B may have no rows.
        let lane_b = if len > 0 { self.b.skip_columns(lane.first()) } else { self.b };
        // 3. Sum the row.
        let rows_left = matrix.rows as usize - first_row;
        let mut sums = if P::IN_STAGES {
            sum_in_stages::<P::Width, S, T, BLOCK>(arena, group, self.stretch(begin, len), lane_b)
        } else {
            let end_row = first_row + if rows_left < block_rows { rows_left } else { block_rows };
            self.sum_with_block::<P::Width, BLOCK>(arena, first_row..end_row, (begin, len), lane_b)
        };
        // 4. Add up the sums of lanes with the same columns.
        group.reduce::<P::Width, T>(&mut sums);
        if !P::IN_STAGES {
            // A group may be a block.
            group.reduce_warps::<P::Width, T, BLOCK>(arena, &mut sums);
        }

        // 5. Store: rows of C directly, columns through shared memory.
        if self.c_by_columns == 0 {
            if is_kept && lane.is_inside && group.side() == 0 {
                self.store_by_rows::<P::Width>(row, lane, &sums);
            }
        } else {
            // The nonzeros were in the same memory.
            thread::barrier();
            let tile = TileOfC::<T::Compute>::take::<T, P::Width, BLOCK>(arena, group);
            tile.fill::<P::Width, T>(group, &sums, is_kept);
            thread::barrier();
            let columns_left = self.columns - lane.of_tile;
            let update = self.update.skip(lane.of_tile as usize * self.c_stride as usize + first_row);
            tile.store::<P::Width, T, BLOCK>(group, update, self.c_stride, rows_left, columns_left);
        }
    }

    /// Returns the first nonzero of a row, their number, and whether the row is summed here. A long or absent row is
    /// not, and has no nonzeros.
    #[device]
    pub(super) fn row(self, row: usize) -> (usize, u32, bool) {
        let Self { matrix, .. } = self;
        if row >= matrix.rows as usize {
            return (0, 0, false);
        }
        let begin = matrix.row_offsets.load(row).to_usize();
        let len = matrix.row_offsets.load(row + 1).to_usize() - begin;
        let is_kept = len <= self.longest as usize;
        (begin, if is_kept { len as u32 } else { 0 }, is_kept)
    }

    /// Sums the row of a group, given the first of its nonzeros and their number: from shared memory if those of all the block's rows
    /// fit there.
    #[device]
    fn sum_with_block<W: Width, const BLOCK: usize>(
        self,
        arena: Arena,
        rows: Range<usize>,
        (begin, len): (usize, u32),
        lane_b: DenseView<T>,
    ) -> LaneSums<T::Compute> {
        let block_begin = self.matrix.row_offsets.load(rows.start).to_usize();
        let block_len = self.matrix.row_offsets.load(rows.end).to_usize() - block_begin;
        if block_len > const { staged(BLOCK) } {
            return self.group.sum::<W, S, T>(self.stretch(begin, len), lane_b);
        }
        let first = begin.wrapping_sub(block_begin) as u32;
        let all = const { (BLOCK as u32).ilog2() };
        let staged = stage::<S, BLOCK>(arena, all, self.stretch(block_begin, block_len as u32));
        self.group.sum::<W, S, T>(InShared { first, len, ..staged }, lane_b)
    }

    /// `len` nonzeros starting at `begin`.
    #[device]
    pub(super) fn stretch(self, begin: usize, len: u32) -> InGlobal<S> {
        let GlobalCsr { column_indices, values, .. } = self.matrix;
        InGlobal { column_indices: column_indices.skip(begin), values: values.skip(begin), len }
    }

    /// Stores a lane's columns of a row of C.
    #[device]
    pub(super) fn store_by_rows<W: Width>(self, row: usize, lane: LaneColumns, sums: &LaneSums<T::Compute>) {
        self.update.store_row::<W>(row * self.c_stride as usize + lane.first() as usize, sums);
    }
}

/// Columns of a lane.
#[derive(Clone, Copy)]
pub(super) struct LaneColumns {
    /// The number of the tile.
    pub(super) tile: u32,
    /// The first column of the tile.
    pub(super) of_tile: u32,
    /// The first of the lane, from that of the tile on.
    pub(super) own: u32,
    /// True if the lane has any.
    pub(super) is_inside: bool,
}

impl LaneColumns {
    /// Returns the first of the lane's columns; that of the tile for a lane that has none. Such lanes repeat the loads
    /// of the first one, which is free, and store nothing.
    #[device]
    pub(super) fn first(self) -> u32 {
        self.of_tile + if self.is_inside { self.own } else { 0 }
    }
}
