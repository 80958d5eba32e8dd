//! The sums of the parts of heavy rows.

use evenpath_simt::{device, kernel, thread, Arena, Float, Global, GlobalMut, Shared};

use crate::spmv::PathTile;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Adds the sums of further parts of rows to those of the first, in their order: one block per tile of row ends plus nonzeros
    /// of the mask.
    pub struct SpgemmMaskedAddParts<V: Float, O: Offset> {
        /// The mask.
        pub mask: GlobalPattern<O>,
        /// First row of each tile, and `rows` at the end.
        pub tile_rows: Global<u32>,
        /// The sums of further parts before those of each row, and all at the end.
        pub first_sums: Global<u64>,
        /// The sums of further parts, those of a part side by side.
        pub part_sums: Global<V>,
        /// The sums of first parts, one per entry of the mask. Output: the sums of all.
        pub values: GlobalMut<V>,
    }
    shared: BLOCK * ITEMS * 4;
    body: SpgemmMaskedAddParts::add_parts::<BLOCK, ITEMS>;
    entry: spgemm_masked_add_parts_{V}_{O} in spgemm_masked_{V}: V in [f32, f64], O in [u32, u64], 256 x 4;
}

impl<V: Float, O: Offset> SpgemmMaskedAddParts<V, O> {
    #[device]
    fn add_parts<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let Self { mask, first_sums, .. } = self;
        let rows: Shared<u32> = arena.take(BLOCK * ITEMS);
        let tile = PathTile::new(thread::block() as usize, BLOCK * ITEMS, self.tile_rows, mask);
        tile.spread::<u32, O, BLOCK>(mask.row_offsets, rows, |row| row as u32);
        thread::barrier();
        for item in 0..ITEMS {
            let place = PathTile::place::<BLOCK>(item);
            if place >= tile.nonzeros {
                continue;
            }
            let row = rows.load(place as usize) as usize;
            let (begin, end) = (first_sums.load(row), first_sums.load(row + 1));
            if begin == end {
                continue;
            }
            let entry = tile.first_nonzero + place as usize;
            let in_mask = mask.entries_if(row as u32, true);
            let mut at = begin + (entry - in_mask.begin) as u64;
            let mut sum = self.values.load(entry);
            while at < end {
                sum += self.part_sums.load(at as usize);
                at += u64::from(in_mask.len);
            }
            self.values.store(entry, sum);
        }
    }
}
