//! The sums of the parts of heavy rows.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Global, GlobalMut, Shared};

use crate::semiring::{InMaxPlus, InMaxTimes, InMinFirst, InMinPlus, InOrAnd, InPlusPair, InPlusTimes};
use crate::spmv::PathTile;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Adds the sums of further parts of rows to those of the first, in their order: one block per tile of row ends plus nonzeros
    /// of the mask.
    pub struct SpgemmMaskedAddParts<V: Arithmetic, O: Offset> {
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
    entries: {
        spgemm_masked_add_parts_{V}_{O} in spgemm_masked_{V}: V in [f32, f64], O in [u32, u64], 256 x 4;
        spgemm_masked_add_parts_{V}_{O} in spgemm_masked_{V}: V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 256 x 4;
        semiring_masked_add_parts_{V}_{O} in semiring_masked_plus_times:
            V in [InPlusTimes<u32> as plus_times_u32, InPlusTimes<u64> as plus_times_u64], O in [u32, u64], 256 x 4;
        semiring_masked_add_parts_{V}_{O} in semiring_masked_min_plus:
            V in [InMinPlus<f32> as min_plus_f32, InMinPlus<f64> as min_plus_f64,
                InMinPlus<u32> as min_plus_u32, InMinPlus<u64> as min_plus_u64,
                InMinPlus<i32> as min_plus_i32, InMinPlus<i64> as min_plus_i64], O in [u32, u64], 256 x 4;
        semiring_masked_add_parts_{V}_{O} in semiring_masked_max:
            V in [InMaxPlus<f32> as max_plus_f32, InMaxPlus<f64> as max_plus_f64,
                InMaxPlus<i32> as max_plus_i32, InMaxPlus<i64> as max_plus_i64,
                InMaxTimes<f32> as max_times_f32, InMaxTimes<f64> as max_times_f64], O in [u32, u64], 256 x 4;
        semiring_masked_add_parts_{V}_{O} in semiring_masked_pattern:
            V in [InOrAnd<u32> as or_and_u32, InPlusPair<u32> as plus_pair_u32,
                InPlusPair<u64> as plus_pair_u64, InMinFirst<f32> as min_first_f32,
                InMinFirst<f64> as min_first_f64, InMinFirst<u32> as min_first_u32,
                InMinFirst<u64> as min_first_u64], O in [u32, u64], 256 x 4;
    }
}

impl<V: Arithmetic, O: Offset> SpgemmMaskedAddParts<V, O> {
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
