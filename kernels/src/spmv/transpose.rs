//! The transpose of a matrix, with its nonzeros sorted by column already: rows of its nonzeros, and where columns begin.

// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{kernel, thread, Arena, Global, GlobalMut, Shared};

use super::path_tile::PathTile;
use crate::Offset;

kernel! {
    /// Writes the row of each nonzero: a tile of the merge of row ends and nonzeros a block.
    pub struct RowIndices<O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Output: the row of each nonzero.
        pub row_indices: GlobalMut<u32>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// Rows of the matrix.
        pub rows: u32,
        /// Nonzeros of the matrix.
        pub nonzeros: u64,
    }
    shared: BLOCK * ITEMS * 4;
    body: write_row_indices::<O, BLOCK, ITEMS>;
    entries: {
        spmv_row_indices_u32 in spmv_transpose: <O = u32>, 256 x 8;
        spmv_row_indices_u64 in spmv_transpose: <O = u64>, 256 x 8;
    }
}

#[inline(always)]
fn write_row_indices<O: Offset, const BLOCK: usize, const ITEMS: usize>(
    mut arena: Arena,
    row_offsets: Global<O>,
    row_indices: GlobalMut<u32>,
    tile_rows: Global<u32>,
    rows: u32,
    nonzeros: u64,
) {
    let entries: Shared<u32> = arena.take(BLOCK * ITEMS);
    let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, tile_rows, rows, nonzeros);
    tile.spread::<u32, O, BLOCK>(row_offsets, entries, |row| row as u32);
    thread::barrier();
    let row_indices = row_indices.skip(tile.first_nonzero);
    for item in 0..ITEMS {
        let place = PathTile::place::<BLOCK>(item);
        if place < tile.nonzeros {
            row_indices.store(place as usize, entries.load(place as usize));
        }
    }
}

kernel! {
    /// Finds where each column begins in the columns of the nonzeros, sorted: a thread a column, and one for the end.
    pub struct ColumnOffsets<O: Offset> {
        /// The columns of the nonzeros, sorted.
        pub columns: Global<u32>,
        /// Output: how many nonzeros have a lesser column; `cols` + 1.
        pub column_offsets: GlobalMut<O>,
        /// Columns of the matrix.
        pub cols: u32,
        /// Nonzeros of the matrix.
        pub nonzeros: u64,
    }
    shared: 0;
    body: find_column_offsets::<O, BLOCK>;
    entries: {
        spmv_column_offsets_u32 in spmv_transpose: <O = u32>, 256 x 1;
        spmv_column_offsets_u64 in spmv_transpose: <O = u64>, 256 x 1;
    }
}

#[inline(always)]
fn find_column_offsets<O: Offset, const BLOCK: usize>(
    _: Arena,
    columns: Global<u32>,
    column_offsets: GlobalMut<O>,
    cols: u32,
    nonzeros: u64,
) {
    let column = u64::from(thread::block()) * BLOCK as u64 + u64::from(thread::index());
    if column > u64::from(cols) {
        return;
    }
    let (mut low, mut left) = (0, nonzeros);
    while left > 0 {
        let half = left >> 1;
        let less = u64::from(columns.load((low + half) as usize)) < column;
        low = if less { low + half + 1 } else { low };
        left = if less { left - half - 1 } else { half };
    }
    column_offsets.store(column as usize, O::from_bits(low));
}
