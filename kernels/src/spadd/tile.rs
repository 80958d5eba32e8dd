//! A tile of the path.

use evenpath_simt::{Global, GlobalMut};

/// The rows and the nonzeros of both matrices in a tile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile {
    /// Items of the path.
    pub(super) items: u32,
    /// Row ends before the tile: the row that it begins in.
    pub(super) first_row: usize,
    /// Row ends in the tile.
    pub(super) rows: u32,
    /// Nonzeros of A before the tile.
    pub(super) a_first: usize,
    /// Nonzeros of A in the tile.
    pub(super) a_len: u32,
    /// Nonzeros of B before the tile.
    pub(super) b_first: usize,
    /// Nonzeros of B in the tile.
    pub(super) b_len: u32,
}

/// Writes where a tile begins: the nonzeros of A and the row ends before it. With its number, these give the nonzeros of B.
#[inline(always)]
pub(super) fn store_start(starts: GlobalMut<u64>, tile: u32, a: u64, row: u64) {
    starts.store(2 * tile as usize, a);
    starts.store(2 * tile as usize + 1, row);
}

impl Tile {
    /// Tile `number` of a path of `items` items, with `tile_items` per tile. If a row's columns are out of order, a later cut can
    /// lie before an earlier one; the tile is still inside both matrices.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn load(starts: Global<u64>, number: u32, items: u64, tile_items: u32) -> Self {
        let starts = starts.skip(2 * number as usize);
        let (a, row, next_a, next_row) = (starts.load(0), starts.load(1), starts.load(2), starts.load(3));
        let diagonal = u64::from(number) * u64::from(tile_items);
        let items = (items - diagonal).min(u64::from(tile_items)) as u32;
        let rows = (next_row - row) as u32;
        let nonzeros = items - rows;
        let a_len = next_a.saturating_sub(a).min(u64::from(nonzeros)) as u32;
        Self {
            items,
            first_row: row as usize,
            rows,
            a_first: a as usize,
            a_len,
            b_first: (diagonal - a - row) as usize,
            b_len: nonzeros - a_len,
        }
    }
}
