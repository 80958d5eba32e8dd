use evenpath_simt::{kernel, thread, Arena, Global, GlobalMut};

use super::{state_words, tile};
use crate::block::warp_search;
use crate::Offset;

kernel! {
    /// Finds where each tile of the path begins, and prepares the state: a warp a tile, and one for the end.
    pub struct CutPath<O: Offset> {
        /// Row offsets of A, `rows` + 1.
        pub a_offsets: Global<O>,
        /// Column indices of A.
        pub a_columns: Global<u32>,
        /// Row offsets of B, `rows` + 1.
        pub b_offsets: Global<O>,
        /// Column indices of B.
        pub b_columns: Global<u32>,
        /// Output: for each tile and the end, nonzeros of A before it, and row ends before it.
        pub starts: GlobalMut<u64>,
        /// Output: all zero; [`state_words`].
        pub states: GlobalMut<u64>,
        /// Items of the path.
        pub items: u64,
        /// Rows of both matrices.
        pub rows: u32,
        /// Tiles.
        pub tiles: u32,
        /// Items in a tile.
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
        let Self { a_columns, b_columns, .. } = self;
        let warps = (BLOCK as u32) / thread::WARP_SIZE;
        let tile = thread::block() * warps + thread::warp();
        if tile > self.tiles {
            return;
        }
        // There are fewer words than threads.
        let number = thread::block() as usize * BLOCK + thread::index() as usize;
        if number < state_words(self.tiles) {
            self.states.store(number, 0);
        }
        let diagonal = (u64::from(tile) * u64::from(self.tile_items)).min(self.items);
        let offset = |offsets: Global<O>, row: u64| offsets.load(row as usize).to_usize() as u64;
        // The row whose end is not before the diagonal.
        let row = warp_search::first(0, u64::from(self.rows), |row| {
            offset(self.a_offsets, row + 1) + offset(self.b_offsets, row + 1) + row >= diagonal
        });
        let (a_start, b_start) = (offset(self.a_offsets, row), offset(self.b_offsets, row));
        let mut a = a_start;
        if row < u64::from(self.rows) {
            let (a_end, b_end) = (offset(self.a_offsets, row + 1), offset(self.b_offsets, row + 1));
            // Nonzeros of the row before the diagonal, which is not behind the row's end.
            let taken = diagonal - a_start - b_start - row;
            let low = taken.saturating_sub(b_end - b_start);
            let high = taken.min(a_end - a_start);
            let (a_columns, b_columns) = (a_columns.skip(a_start as usize), b_columns.skip(b_start as usize));
            a += warp_search::first(low, high, |index| {
                a_columns.load(index as usize) > b_columns.load((taken - 1 - index) as usize)
            });
        }
        if thread::lane() == 0 {
            tile::store_start(self.starts, tile, a, row);
        }
    }
}
