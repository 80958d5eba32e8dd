//! Softmax of the rows of a sparse matrix.

use evenpath_simt::{device, kernel, thread, Arena, Element, Global, GlobalMut, Shared};

use crate::elementary::Elementary;
use crate::spmv::PathTile;
use crate::{GlobalPattern, Offset};

kernel! {
    /// The exponential of each value less the maximum of its row, or each such exponential divided by the sum of its row: one
    /// block per tile of row ends plus nonzeros.
    pub struct SoftmaxStep<V: Elementary, O: Offset> {
        /// The positions of the nonzeros.
        pub pattern: GlobalPattern<O>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// Values, or exponentials.
        pub source: Global<V>,
        /// Maximum of each row, or sum.
        pub of_rows: Global<V>,
        /// Output: one per nonzero.
        pub target: GlobalMut<V>,
        /// One to divide; otherwise zero.
        pub is_division: u32,
    }
    shared: BLOCK * ITEMS * V::SIZE;
    body: SoftmaxStep::step::<BLOCK, ITEMS>;
    entry: softmax_step_{V}_{O} in softmax_{V}: V in [f32, f64], O in [u32, u64], 256 x 8;
}

impl<V: Elementary, O: Offset> SoftmaxStep<V, O> {
    #[device]
    fn step<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let of_rows: Shared<V> = arena.take(BLOCK * ITEMS);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, self.pattern);
        let own: [V; ITEMS] = tile.load::<V, BLOCK, ITEMS>(self.source);
        tile.spread::<V, O, BLOCK>(self.pattern.row_offsets, of_rows, |row| self.of_rows.load(row));
        thread::barrier();
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros {
                let of_row = of_rows.load(place as usize);
                let result = if self.is_division != 0 {
                    own[item] / of_row
                } else {
                    (own[item] - of_row).natural_exp()
                };
                self.target.store(tile.first_nonzero + place as usize, result);
            }
        }
    }
}
