use evenpath_simt::{device, kernel, thread, Arena, Float, Global, GlobalMut};

use super::sums::{batch_sums_bytes, BatchSums, BATCH_AT_ONCE};
use crate::spmv::PathTile;
use crate::unroll::unroll;
use crate::update::Update;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Multiplies by x: one block for each tile of row ends and nonzeros, and [`BATCH_AT_ONCE`] matrices. Writes the rows of y that end in
    /// the tile, without the parts of the first of them that lie in tiles before, which are carries.
    pub struct BatchTile<V: Float, O: Offset> {
        /// The pattern of all matrices.
        pub pattern: GlobalPattern<O>,
        /// The values, matrix after matrix.
        pub values: Global<V>,
        /// The vectors x, one after the other.
        pub x: Global<V>,
        /// The vectors y, one after the other.
        pub update: Update<V>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// Output: for each matrix, the parts of each tile but the last of the row in which the next begins.
        pub carries: GlobalMut<V>,
        /// Columns of a matrix.
        pub cols: u32,
        /// Matrices.
        pub batch: u32,
        /// Tiles of a matrix.
        pub tiles: u32,
    }
    shared: batch_sums_bytes::<V, BLOCK>(BLOCK * ITEMS);
    body: BatchTile::multiply::<BLOCK, ITEMS>;
    entry: spmv_batch_{V}_{O} in spmv_batch: (V, N) in [(f32, 7), (f64, 5)], O in [u32, u64], 128 x N;
}

impl<V: Float, O: Offset> BatchTile<V, O> {
    #[device]
    fn multiply<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        // 1. Find the tile, and the matrices. Those of one tile are neighbors, so that the pattern is still in a cache.
        let groups = self.batch.div_ceil(BATCH_AT_ONCE as u32).max(1);
        let index = thread::block() / groups;
        let first = (thread::block() - index * groups) as usize * BATCH_AT_ONCE;
        let count = (self.batch as usize - first).min(BATCH_AT_ONCE);
        let path = PathTile::new(index as usize, BLOCK * ITEMS, self.tile_rows, self.pattern);
        let tile = BatchSums::<V, BLOCK, ITEMS>::take(&mut arena, path);

        // 2. Multiply, and sum the rows that end in the tile.
        self.write_products(&tile, path, first, count);
        thread::barrier();
        let carries = tile.sum_rows();

        // 3. Store the sums.
        unroll!(for matrix in 0..BATCH_AT_ONCE {
            if matrix < count {
                let begin = (first + matrix) * self.pattern.rows as usize + path.first_row;
                let mut row = thread::index();
                while row < path.rows {
                    self.update.store(begin + row as usize, tile.sum(matrix, row));
                    row += BLOCK as u32;
                }
                if thread::index() == 0 && index + 1 < self.tiles {
                    let before = (first + matrix) * (self.tiles as usize - 1);
                    self.carries.store(before + index as usize, carries[matrix]);
                }
            }
        });
    }

    /// Writes products and row ends to shared memory. All values are loaded before columns or row ends are waited for.
    #[device(track_caller)]
    fn write_products<const BLOCK: usize, const ITEMS: usize>(
        self,
        tile: &BatchSums<V, BLOCK, ITEMS>,
        path: PathTile,
        first: usize,
        count: usize,
    ) {
        let columns = path.load::<u32, BLOCK, ITEMS>(self.pattern.column_indices.natural());
        let mut values = [[V::ZERO; ITEMS]; BATCH_AT_ONCE];
        unroll!(for matrix in 0..BATCH_AT_ONCE {
            if matrix < count {
                let of_matrix = self.values.skip((first + matrix) * self.pattern.nonzeros as usize);
                values[matrix] = path.load::<V, BLOCK, ITEMS>(of_matrix);
            }
        });
        tile.load_row_ends(self.pattern.row_offsets);
        unroll!(for matrix in 0..BATCH_AT_ONCE {
            let mut products = [V::ZERO; ITEMS];
            if matrix < count && path.nonzeros > 0 {
                let x = self.x.skip((first + matrix) * self.cols as usize);
                for item in 0..ITEMS {
                    products[item] = values[matrix][item] * x.load(columns[item] as usize);
                }
            }
            tile.write_products(matrix, products);
        });
    }
}
