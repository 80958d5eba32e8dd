//! The rows that are too long for one group of lanes.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, thread, warp, Arena, GlobalMut};

use crate::{Offset, Pattern};

/// Counters of [`SpmmLongRows`]: long rows, and pieces.
pub const LONG_COUNTERS: usize = 2;

kernel! {
    /// Lists the long rows and the pieces that they are cut into, one thread per row; where the lists are too short, only
    /// counts them. The pieces of a row are consecutive; the rows come in any order.
    pub struct SpmmLongRows<O: Offset> {
        /// The matrix.
        pub pattern: Pattern<O>,
        /// Long rows and pieces, both zero before.
        pub counters: GlobalMut<u32>,
        /// Output: the long rows.
        pub long_rows: GlobalMut<u32>,
        /// Output: the first piece of each long row.
        pub first_pieces: GlobalMut<u32>,
        /// Output: the row of each piece.
        pub piece_rows: GlobalMut<u32>,
        /// Output: the number of each piece within its row.
        pub piece_ranks: GlobalMut<u32>,
        /// Long rows that the lists have room for; all or none.
        pub room: u32,
        /// The most nonzeros of a row that is not long, and of a piece.
        pub longest: u32,
    }
    shared: 0;
    body: SpmmLongRows::list_long_rows::<BLOCK>;
    entries: {
        spmm_long_rows_u32 in spmm_plan: <O = u32>, 256 x 1;
        spmm_long_rows_u64 in spmm_plan: <O = u64>, 256 x 1;
    }
}

impl<O: Offset> SpmmLongRows<O> {
    #[inline(always)]
    fn list_long_rows<const BLOCK: usize>(self, _: Arena) {
        let row = thread::block() as usize * BLOCK + thread::index() as usize;
        let mut pieces = 0;
        if row < self.pattern.rows as usize {
            let len = self.pattern.row_len(row) as usize;
            if len > self.longest as usize {
                pieces = len.div_ceil(self.longest as usize) as u32;
            }
        }
        let is_long = warp::ballot(warp::FULL, pieces > 0);
        if is_long == 0 {
            return;
        }
        // One addition to the counters per warp.
        let lane = thread::lane();
        let pieces_up_to = warp::inclusive_sum(pieces);
        let (mut first_row, mut first_piece) = (0, 0);
        if lane == thread::WARP_SIZE - 1 {
            first_row = self.counters.fetch_add(0, is_long.count_ones(), Ordering::Relaxed, Scope::Device);
            first_piece = self.counters.fetch_add(1, pieces_up_to, Ordering::Relaxed, Scope::Device);
        }
        first_row = warp::shuffle(warp::FULL, first_row, thread::WARP_SIZE - 1);
        first_piece = warp::shuffle(warp::FULL, first_piece, thread::WARP_SIZE - 1) + pieces_up_to - pieces;
        let slot = first_row + (is_long & ((1 << lane) - 1)).count_ones();
        if pieces > 0 && slot < self.room {
            self.long_rows.store(slot as usize, row as u32);
            self.first_pieces.store(slot as usize, first_piece);
            let mut rank = 0;
            while rank < pieces {
                self.piece_rows.store((first_piece + rank) as usize, row as u32);
                self.piece_ranks.store((first_piece + rank) as usize, rank);
                rank += 1;
            }
        }
    }
}
