//! The transpose of a matrix, with its nonzeros sorted by column already: rows of its nonzeros, and where columns begin.

use evenpath_simt::{device, kernel, thread, Arena, Global, GlobalMut, Shared};

use super::path_tile::PathTile;
use crate::block::search::partition_point;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Writes the row of each nonzero: one block per tile of the merge of row ends and nonzeros.
    pub struct RowIndices<O: Offset> {
        /// The matrix.
        pub pattern: GlobalPattern<O>,
        /// Output: the row of each nonzero.
        pub row_indices: GlobalMut<u32>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
    }
    shared: BLOCK * ITEMS * 4;
    body: RowIndices::write_row_indices::<BLOCK, ITEMS>;
    entry: spmv_row_indices_{O} in spmv_transpose: O in [u32, u64], 256 x 8;
}

impl<O: Offset> RowIndices<O> {
    #[device]
    fn write_row_indices<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let entries: Shared<u32> = arena.take(BLOCK * ITEMS);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, self.pattern);
        tile.spread::<u32, O, BLOCK>(self.pattern.row_offsets, entries, |row| row as u32);
        thread::barrier();
        let row_indices = self.row_indices.skip(tile.first_nonzero);
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros {
                row_indices.store(place as usize, entries.load(place as usize));
            }
        }
    }
}

kernel! {
    /// Finds where each column begins in the sorted columns of the nonzeros: one thread per column, and one for the end.
    pub struct ColumnOffsets<O: Offset> {
        /// The column indices of the nonzeros, sorted.
        pub column_indices: Global<u32>,
        /// Output: how many nonzeros have a lesser column; `cols` + 1.
        pub column_offsets: GlobalMut<O>,
        /// Columns of the matrix.
        pub cols: u32,
        /// Nonzeros of the matrix.
        pub nonzeros: u64,
    }
    shared: 0;
    body: ColumnOffsets::find_column_offsets::<BLOCK>;
    entry: spmv_column_offsets_{O} in spmv_transpose: O in [u32, u64], 256 x 1;
}

impl<O: Offset> ColumnOffsets<O> {
    #[device]
    fn find_column_offsets<const BLOCK: usize>(self, _: Arena) {
        let column = thread::global_index::<BLOCK>() as u64;
        if column > u64::from(self.cols) {
            return;
        }
        let first = partition_point(0, self.nonzeros, |nonzero| {
            u64::from(self.column_indices.load(nonzero as usize)) < column
        });
        self.column_offsets.store(column as usize, O::from_bits(first));
    }
}
