use evenpath_simt::{device, kernel, thread, Arena, Float, Global, GlobalMut};

use crate::coo::{fixup_bytes, CarryRuns};

kernel! {
    /// Adds to every row the sum of its carries from [`BatchTile`](super::BatchTile): `blocks` for each matrix, and one thread per carry,
    /// of which the first of each row does the work.
    pub struct BatchFixup<V: Float> {
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// The carries, matrix after matrix.
        pub carries: Global<V>,
        /// The vectors y, one after the other.
        pub y: GlobalMut<V>,
        /// Carries of a matrix.
        pub count: u32,
        /// Rows of a matrix.
        pub rows: u32,
        /// Blocks for a matrix, not 0.
        pub blocks: u32,
        /// Factor of the products.
        pub alpha: V,
    }
    shared: fixup_bytes::<V>(BLOCK);
    body: BatchFixup::fixup::<BLOCK>;
    entry: spmv_batch_fixup_{V} in spmv_batch: V in [f32, f64], 256 x 1;
}

impl<V: Float> BatchFixup<V> {
    #[device]
    fn fixup<const BLOCK: usize>(self, arena: Arena) {
        let matrix = thread::block() / self.blocks.max(1);
        let first = (thread::block() - matrix * self.blocks) * BLOCK as u32 + thread::index();
        let carries = self.carries.skip(matrix as usize * self.count as usize);
        let y = self.y.skip(matrix as usize * self.rows as usize);
        // A carry is of the row in which the next tile begins.
        let runs = CarryRuns { carry_rows: self.tile_rows.skip(1), carries, count: self.count };
        runs.each_sum_from::<BLOCK>(arena, first, |row, sum| {
            // A tile that has no nonzero of the row leaves zero, which an infinite alpha must not make NaN.
            if sum != V::ZERO {
                y.store(row as usize, self.alpha.fma(sum, y.load(row as usize)));
            }
        });
    }
}
