//! A tile of the path.

use evenpath_simt::{device, thread, Global, GlobalMut, Shared};

use crate::Offset;

/// The rows and the nonzeros of both matrices in a tile.
#[derive(Debug, Clone, Copy)]
pub(super) struct SpaddTile {
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
#[device]
pub(super) fn store_start(starts: GlobalMut<u64>, tile: u32, a: u64, row: u64) {
    starts.store(2 * tile as usize, a);
    starts.store(2 * tile as usize + 1, row);
}

impl SpaddTile {
    /// Tile `number` of a path of `items` items, with `tile_items` per tile, which begins where [`store_start`] wrote.
    #[device(track_caller)]
    pub(super) fn load(starts: Global<u64>, number: u32, items: u64, tile_items: u32) -> Self {
        let starts = starts.skip(2 * number as usize);
        let (start, end) = ((starts.load(0), starts.load(1)), (starts.load(2), starts.load(3)));
        Self::between(start, end, u64::from(number) * u64::from(tile_items), items, tile_items)
    }

    /// Returns the tile starting at `diagonal`, of a path of `items` items: at most `tile_items`. It begins after the
    /// nonzeros of A and row ends in `start`, and ends after those in `end`. If a row's columns are out of order, a
    /// later cut can lie before an earlier one; the tile is still inside both matrices.
    #[device]
    pub(super) fn between(
        (a, row): (u64, u64),
        (next_a, next_row): (u64, u64),
        diagonal: u64,
        items: u64,
        tile_items: u32,
    ) -> Self {
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

    /// Writes the row offsets at the row ends in the tile, which follow `before` results of earlier tiles and the
    /// number of its own in `ends`; tile 0 also writes the first offset. Every thread of a block of `BLOCK` calls it.
    #[device(track_caller)]
    pub(super) fn write_row_offsets<O: Offset, const BLOCK: usize>(
        &self,
        number: u32,
        before: u64,
        ends: Shared<u32>,
        row_offsets: GlobalMut<O>,
    ) {
        if number == 0 && thread::index() == 0 {
            row_offsets.store(0, O::ZERO);
        }
        let row_offsets = row_offsets.skip(self.first_row + 1);
        thread::block_stride::<BLOCK>(self.rows, |row| {
            row_offsets.store(row as usize, O::from_bits(before + u64::from(ends.load(row as usize))));
        });
    }
}
