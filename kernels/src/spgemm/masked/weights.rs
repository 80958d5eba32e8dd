//! The weight of each entry of A.

use evenpath_simt::{device, kernel, thread, Arena, Global, GlobalMut, Shared};

use crate::spmv::PathTile;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Weighs the entries of A: the length of the shorter of the rows of B and of the mask, plus one. One block per tile of row
    /// ends plus nonzeros of A.
    pub struct SpgemmMaskedWeights<O: Offset> {
        /// A.
        pub a: GlobalPattern<O>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// Row offsets of B.
        pub b_row_offsets: Global<O>,
        /// Row offsets of the mask.
        pub mask_row_offsets: Global<O>,
        /// Output: the weight of each entry of A; then a zero, so that an exclusive scan ends with the sum.
        pub weights: GlobalMut<u64>,
    }
    shared: BLOCK * ITEMS * 4;
    body: SpgemmMaskedWeights::weigh::<BLOCK, ITEMS>;
    entry: spgemm_masked_weights_{O} in spgemm_masked: O in [u32, u64], 256 x 8;
}

impl<O: Offset> SpgemmMaskedWeights<O> {
    #[device]
    fn weigh<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let Self { a, b_row_offsets, mask_row_offsets, .. } = self;
        let mask_lens: Shared<u32> = arena.take(BLOCK * ITEMS);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, a);
        let columns: [u32; ITEMS] = tile.load::<u32, BLOCK, ITEMS>(a.column_indices.natural());
        tile.spread::<u32, O, BLOCK>(a.row_offsets, mask_lens, |row| row_len(mask_row_offsets, row));
        thread::barrier();
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place < tile.nonzeros {
                let b_len = row_len(b_row_offsets, columns[item] as usize);
                let lookups = b_len.min(mask_lens.load(place as usize));
                self.weights.store(tile.first_nonzero + place as usize, u64::from(lookups) + 1);
            }
        }
        if thread::block() == 0 && thread::index() == 0 {
            self.weights.store(a.nonzeros as usize, 0);
        }
    }
}

#[device(track_caller)]
fn row_len<O: Offset>(row_offsets: Global<O>, row: usize) -> u32 {
    (row_offsets.load(row + 1).to_usize() - row_offsets.load(row).to_usize()) as u32
}
