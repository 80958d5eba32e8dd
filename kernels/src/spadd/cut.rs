use evenpath_simt::{device, kernel, thread, Arena, GlobalMut};

use super::state::state_words;
use super::tile;
use crate::block::warp_search;
use crate::{GlobalPattern, Offset};

/// Returns the number of items on the path of two matrices.
#[device]
pub fn path_items<O: Offset>(a: GlobalPattern<O>, b: GlobalPattern<O>) -> u64 {
    a.nonzeros + b.nonzeros + u64::from(a.rows)
}

kernel! {
    /// Finds where each tile of the path begins, and clears the state: one warp per tile, and one for the end.
    pub struct CutPath<O: Offset> {
        /// A.
        pub a: GlobalPattern<O>,
        /// B, with as many rows.
        pub b: GlobalPattern<O>,
        /// Output: for each tile and the end, the nonzeros of A before it, and the row ends before it.
        pub starts: GlobalMut<u64>,
        /// Output: [`state_words`] words, all zero.
        pub states: GlobalMut<u64>,
        /// The number of tiles.
        pub tiles: u32,
        /// Items per tile.
        pub tile_items: u32,
    }
    shared: 0;
    body: CutPath::cut::<BLOCK>;
    entry: spadd_cut_{O} in spadd: O in [u32, u64], 128 x 1;
}

impl<O: Offset> CutPath<O> {
    fn cut<const BLOCK: usize>(self, _: Arena) {
        let Self { a, b, .. } = self;
        let warps = (BLOCK as u32) / thread::WARP_SIZE;
        let tile = thread::block() * warps + thread::warp();
        if tile > self.tiles {
            return;
        }
        // The state has fewer words than the grid has threads.
        let number = thread::global_index::<BLOCK>();
        if number < state_words(self.tiles) {
            self.states.store(number, 0);
        }
        let diagonal = (u64::from(tile) * u64::from(self.tile_items)).min(path_items(a, b));
        // The first row whose end is not before the diagonal.
        let row = warp_search::first(0, u64::from(a.rows), |row| row_end(a, b, row) >= diagonal);
        let cut = RowCut::in_row(a, b, row, diagonal);
        if thread::lane() == 0 {
            tile::store_start(self.starts, tile, cut.a, row);
        }
    }
}

#[device(track_caller)]
fn offset<O: Offset>(pattern: GlobalPattern<O>, row: u64) -> u64 {
    pattern.row_offsets.load(row as usize).to_usize() as u64
}

/// Returns the position on the path of a row's end.
#[device(track_caller)]
pub(super) fn row_end<O: Offset>(a: GlobalPattern<O>, b: GlobalPattern<O>, row: u64) -> u64 {
    offset(a, row + 1) + offset(b, row + 1) + row
}

/// Cut of the path by a diagonal in a row.
pub(super) struct RowCut {
    /// Nonzeros of A before it.
    pub(super) a: u64,
    /// Nonzeros of B before it.
    b: u64,
    /// True if both matrices have nonzeros in the row where it may separate a pair: one of A before it, one of B after
    /// it.
    is_inside: bool,
}

impl RowCut {
    /// Returns the cut of a diagonal in the first row whose end is not before it; for the path's end, that is one past
    /// the last row. For one whole warp.
    #[device(track_caller)]
    pub(super) fn in_row<O: Offset>(
        a: GlobalPattern<O>,
        b: GlobalPattern<O>,
        row: u64,
        diagonal: u64,
    ) -> Self {
        let (a_start, b_start) = (offset(a, row), offset(b, row));
        if row >= u64::from(a.rows) {
            return Self { a: a_start, b: b_start, is_inside: false };
        }
        let (a_end, b_end) = (offset(a, row + 1), offset(b, row + 1));
        // Nonzeros of the row before the diagonal, which is not past the row's end.
        let taken = diagonal - a_start - b_start - row;
        let low = taken.saturating_sub(b_end - b_start);
        let high = taken.min(a_end - a_start);
        let a_columns = a.column_indices.skip(a_start as usize);
        let b_columns = b.column_indices.skip(b_start as usize);
        let a_taken = warp_search::first(low, high, |index| {
            a_columns.load(index as usize) > b_columns.load((taken - 1 - index) as usize)
        });
        let before = b_start + (taken - a_taken);
        Self { a: a_start + a_taken, b: before, is_inside: a_taken > 0 && before < b_end }
    }

    /// Returns whether it separates two nonzeros of the same row and column.
    #[device(track_caller)]
    pub(super) fn separates_pair<O: Offset>(&self, a: GlobalPattern<O>, b: GlobalPattern<O>) -> bool {
        self.is_inside && a.column_indices.load(self.a as usize - 1) == b.column_indices.load(self.b as usize)
    }
}
