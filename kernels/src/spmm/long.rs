//! The rows that are too long for one group of lanes.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, GlobalMut};

use crate::{GlobalPattern, Offset};

/// Counters of [`SpmmLongRows`]: long rows, and pieces.
pub const LONG_COUNTERS: usize = 2;

kernel! {
    /// Lists the pieces of long rows, one thread per row. If the lists are too short, it only counts them. The pieces
    /// of a row are consecutive; the rows come in any order.
    pub struct SpmmLongRows<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// Long rows and pieces, both zero before.
        pub counters: GlobalMut<u32>,
        /// Output: the row of each piece.
        pub piece_rows: GlobalMut<u32>,
        /// Output: the place of each piece within its row.
        pub piece_places: GlobalMut<u32>,
        /// Output: the column of each piece's first nonzero.
        pub piece_columns: GlobalMut<u32>,
        /// Output: the number of each piece.
        pub piece_numbers: GlobalMut<u32>,
        /// Pieces that the lists have room for; all or none.
        pub room: u32,
        /// The most nonzeros of a row that is not long.
        pub longest: u32,
        /// log2 of the most nonzeros of a piece.
        pub piece_log2: u32,
    }
    shared: 0;
    body: SpmmLongRows::list_long_rows::<BLOCK>;
    entry: spmm_long_rows_{O} in spmm_plan: O in [u32, u64], 256 x 1;
}

impl<O: Offset> SpmmLongRows<O> {
    #[device]
    fn list_long_rows<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        let (mut pieces, mut begin) = (0, 0);
        if row < self.pattern.rows as usize {
            let bounds = self.pattern.row_bounds(row);
            let len = bounds.1 - bounds.0;
            begin = bounds.0;
            if len > self.longest as usize {
                pieces = ((len - 1) >> self.piece_log2) as u32 + 1;
            }
        }
        let is_long = warp::ballot(warp::FULL, pieces > 0);
        if is_long == 0 {
            return;
        }
        // One addition to the counters per warp.
        let pieces_up_to = warp::inclusive_sum(pieces);
        let mut first = 0;
        if thread::lane() == thread::WARP_SIZE - 1 {
            self.counters.fetch_add(0, is_long.count_ones(), Ordering::Relaxed, Scope::Device);
            first = self.counters.fetch_add(1, pieces_up_to, Ordering::Relaxed, Scope::Device);
        }
        first = warp::shuffle(warp::FULL, first, thread::WARP_SIZE - 1) + pieces_up_to - pieces;
        if first < self.room {
            let mut place = 0;
            while place < pieces {
                let piece = (first + place) as usize;
                let nonzero = begin + ((place as usize) << self.piece_log2);
                self.piece_rows.store(piece, row as u32);
                self.piece_places.store(piece, place);
                self.piece_columns.store(piece, self.pattern.column_indices.load(nonzero));
                self.piece_numbers.store(piece, first + place);
                place += 1;
            }
        }
    }
}
