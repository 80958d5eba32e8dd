//! The sums of pieces, and of the rows that they are pieces of.

use evenpath_simt::{device, thread, Arena, Element, Shared, Stored, WidenTo, Words};

use super::group::LaneSums;
use super::pieces::FLAG_BYTES;
use super::rows::{LaneColumns, SpmmRows};
use super::stage::stage;
use super::width::{Width, MAX_WIDTH};
use crate::Offset;

/// A piece of a row, or of none.
#[derive(Clone, Copy, Default)]
struct Piece {
    row: usize,
    /// Its number.
    index: u32,
    /// Its first nonzero.
    begin: usize,
    len: u32,
    /// The first piece of the row, and how many it has; none if there is no piece.
    first: u32,
    count: u32,
}

impl<S: WidenTo<T::Compute>, T: Stored, O: Offset> SpmmRows<S, T, O> {
    #[device]
    fn piece(self, place: u32) -> Piece {
        if place >= self.pieces.count {
            return Piece::default();
        }
        let index = self.pieces.order.load(place as usize);
        let row = self.pieces.rows.load(index as usize) as usize;
        let in_row = self.pieces.places.load(index as usize);
        let row_begin = self.matrix.row_offsets.load(row).to_usize();
        let row_len = self.matrix.row_offsets.load(row + 1).to_usize() - row_begin;
        let before = (in_row as usize) << self.pieces.len_log2;
        let left = row_len - before;
        let most = 1 << self.pieces.len_log2;
        Piece {
            row,
            index,
            begin: row_begin + before,
            len: if left < most { left as u32 } else { most as u32 },
            first: index - in_row,
            count: ((row_len - 1) >> self.pieces.len_log2) as u32 + 1,
        }
    }

    /// Sums a tile of columns of the block's pieces, and of each row whose last piece to arrive is among them.
    #[device]
    pub(super) fn multiply_piece<W: Width, const BLOCK: usize>(
        self,
        mut arena: Arena,
        lane: LaneColumns,
        block: u32,
    ) {
        let group = self.pieces.group;
        let piece = self.piece(block * (BLOCK as u32 >> group.lanes_log2()) + group.index());
        let is_last: Shared<u32> = arena.take(FLAG_BYTES / 4);
        let staged = stage::<S, BLOCK>(arena, group.lanes_log2(), self.stretch(piece.begin, piece.len));
        let lane_b = if piece.len > 0 { self.b.skip_columns(lane.first()) } else { self.b };
        let mut sums = group.sum::<W, S, T>(staged, lane_b);
        group.reduce::<W, T>(&mut sums);
        group.reduce_warps::<W, T, BLOCK>(arena, &mut sums);

        if piece.count > 1 {
            if lane.is_inside && group.side() == 0 {
                self.leave::<W>(piece.index, lane, &sums);
            }
            if thread::index() & ((1 << group.lanes_log2()) - 1) == 0 {
                let sum = lane.tile as usize * self.pieces.count as usize + piece.first as usize;
                let last = self.pieces.sums.sums::<T::Compute>().arrive(sum, piece.count);
                is_last.store(group.index() as usize, u32::from(last));
            }
        }
        thread::barrier();
        if piece.count > 1 {
            if is_last.load(group.index() as usize) == 0 {
                return;
            }
            sums = self.add_up::<W>(piece, lane);
            group.reduce::<W, T>(&mut sums);
            group.reduce_warps::<W, T, BLOCK>(arena, &mut sums);
        }
        if piece.count > 0 && lane.is_inside && group.side() == 0 {
            if self.c_by_columns == 0 {
                self.store_by_rows::<W>(piece.row, lane, &sums);
            } else {
                self.store_by_columns::<W>(piece.row, lane, &sums);
            }
        }
    }

    /// Returns the place of the lane's part of a piece's sums.
    #[device]
    fn place(self, piece: u32, lane: LaneColumns) -> usize {
        piece as usize * self.columns as usize + lane.first() as usize
    }

    /// Leaves a piece's sums in the lane's columns.
    #[device]
    fn leave<W: Width>(self, piece: u32, lane: LaneColumns, sums: &LaneSums<T::Compute>) {
        let place = self.place(piece, lane);
        for at in 0..W::len::<T>() {
            self.pieces.sums.sums::<T::Compute>().put(place + at, sums[at]);
        }
    }

    /// Returns the lane's share of the sums of a row's pieces: every nth piece, with n pieces side by side.
    #[device]
    fn add_up<W: Width>(self, piece: Piece, lane: LaneColumns) -> LaneSums<T::Compute> {
        let group = self.pieces.group;
        let parts = self.pieces.sums.sums::<T::Compute>();
        let mut sums = [T::Compute::ZERO; MAX_WIDTH];
        let mut other = group.side();
        while other < piece.count {
            let place = self.place(piece.first + other, lane);
            let mut seen = [<T::Compute as Element>::Words::each(|_| [0; 2]); MAX_WIDTH];
            for at in 0..W::len::<T>() {
                seen[at] = parts.look(place + at);
            }
            for at in 0..W::len::<T>() {
                sums[at] += parts.part(place + at, seen[at]);
            }
            other += 1 << group.side_log2;
        }
        sums
    }

    /// Stores a lane's columns of a row of C that is stored by columns.
    #[device]
    fn store_by_columns<W: Width>(self, row: usize, lane: LaneColumns, sums: &LaneSums<T::Compute>) {
        for at in 0..W::len::<T>() {
            let index = (lane.first() as usize + at) * self.c_stride as usize + row;
            let old = self.update.load(index);
            self.update.c.store_streaming(index, self.update.combine(sums[at], old));
        }
    }
}
