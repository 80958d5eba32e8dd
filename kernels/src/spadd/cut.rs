use evenpath_simt::{kernel, thread, Arena, Global, GlobalMut};

use super::{path_items, state_words, tile};
use crate::block::warp_search;
use crate::{Offset, Pattern};

kernel! {
    /// Finds where each tile of the path begins, and clears the state: one warp per tile, and one for the end.
    pub struct CutPath<O: Offset> {
        /// A.
        pub a: Pattern<O>,
        /// B, with as many rows.
        pub b: Pattern<O>,
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
    entries: {
        spadd_cut_u32 in spadd: <O = u32>, 128 x 1;
        spadd_cut_u64 in spadd: <O = u64>, 128 x 1;
    }
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
        let number = thread::block() as usize * BLOCK + thread::index() as usize;
        if number < state_words(self.tiles) {
            self.states.store(number, 0);
        }
        let diagonal = (u64::from(tile) * u64::from(self.tile_items)).min(path_items(a, b));
        let offset = |offsets: Global<O>, row: u64| offsets.load(row as usize).to_usize() as u64;
        // The first row whose end is not before the diagonal.
        let row = warp_search::first(0, u64::from(a.rows), |row| {
            offset(a.row_offsets, row + 1) + offset(b.row_offsets, row + 1) + row >= diagonal
        });
        let (a_start, b_start) = (offset(a.row_offsets, row), offset(b.row_offsets, row));
        let mut a_before = a_start;
        if row < u64::from(a.rows) {
            let (a_end, b_end) = (offset(a.row_offsets, row + 1), offset(b.row_offsets, row + 1));
            // Nonzeros of the row before the diagonal, which is not past the row's end.
            let taken = diagonal - a_start - b_start - row;
            let low = taken.saturating_sub(b_end - b_start);
            let high = taken.min(a_end - a_start);
            let a_columns = a.column_indices.skip(a_start as usize);
            let b_columns = b.column_indices.skip(b_start as usize);
            a_before += warp_search::first(low, high, |index| {
                a_columns.load(index as usize) > b_columns.load((taken - 1 - index) as usize)
            });
        }
        if thread::lane() == 0 {
            tile::store_start(self.starts, tile, a_before, row);
        }
    }
}
