//! Dense matrices, from columns to rows.

use evenpath_simt::half::{bf16, f16};
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Element, Global, GlobalMut, Shared, Stored};

/// Elements of a tile of [`SpmmTranspose`].
pub const TRANSPOSE_TILE: u32 = 1024;

/// log2 of the most columns of a tile.
const MAX_COLUMNS_LOG2: u32 = 5;

kernel! {
    /// Copies a dense matrix that is stored by columns to one that is stored by rows: one block per tile of
    /// [`TRANSPOSE_TILE`] elements, tiles of the same columns one after the other.
    pub struct SpmmTranspose<T: Stored> {
        /// The matrix by columns.
        pub source: Global<T>,
        /// Output: the matrix by rows, the rows without gaps.
        pub target: GlobalMut<T>,
        /// Rows.
        pub rows: u32,
        /// Columns.
        pub columns: u32,
        /// Elements from a column of the source to the next.
        pub source_stride: u64,
        /// log2 of the columns of a tile; at most 5.
        pub columns_log2: u32,
    }
    shared: (TRANSPOSE_TILE as usize + (1 << MAX_COLUMNS_LOG2)) * T::SIZE;
    body: SpmmTranspose::transpose::<BLOCK, ITEMS>;
    entries: {
        spmm_transpose_{T} in spmm_{T}: T in [f32, f64, f16, bf16], 256 x 4;
        spmm_transpose_{T} in spmm_{T}: T in [Complex<f32> as c32, Complex<f64> as c64], 256 x 4;
    }
}

impl<T: Stored> SpmmTranspose<T> {
    #[device]
    fn transpose<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        const { assert!(BLOCK * ITEMS == TRANSPOSE_TILE as usize, "a tile is what the threads hold") };
        let shared: Shared<T> = arena.take(TRANSPOSE_TILE as usize + (1 << MAX_COLUMNS_LOG2));
        let rows_log2 = TRANSPOSE_TILE.ilog2() - self.columns_log2;
        let row_tiles = (self.rows >> rows_log2) + u32::from(self.rows & ((1 << rows_log2) - 1) > 0);
        let column_tile = thread::block() / row_tiles;
        let first_row = ((thread::block() - column_tile * row_tiles) as usize) << rows_log2;
        let first_column = column_tile << self.columns_log2;
        let rows_left = self.rows as usize - first_row;
        let columns_left = self.columns - first_column;
        // One more row per column, against bank conflicts.
        let place = |row: u32, column: u32| (column * ((1 << rows_log2) + 1) + row) as usize;

        let source = self.source.skip(first_column as usize * self.source_stride as usize + first_row);
        let mut loaded = [T::ZERO; ITEMS];
        for item in 0..ITEMS {
            let at = thread::index() + (item * BLOCK) as u32;
            let (row, column) = (at & ((1 << rows_log2) - 1), at >> rows_log2);
            let inside = (row as usize) < rows_left && column < columns_left;
            loaded[item] =
                source.load_if(column as usize * self.source_stride as usize + row as usize, inside);
        }
        for item in 0..ITEMS {
            let at = thread::index() + (item * BLOCK) as u32;
            shared.store(place(at & ((1 << rows_log2) - 1), at >> rows_log2), loaded[item]);
        }
        thread::barrier();
        let target = self.target.skip(first_row * self.columns as usize + first_column as usize);
        for item in 0..ITEMS {
            let at = thread::index() + (item * BLOCK) as u32;
            let (column, row) = (at & ((1 << self.columns_log2) - 1), at >> self.columns_log2);
            if (row as usize) < rows_left && column < columns_left {
                target.store(
                    row as usize * self.columns as usize + column as usize,
                    shared.load(place(row, column)),
                );
            }
        }
    }
}
