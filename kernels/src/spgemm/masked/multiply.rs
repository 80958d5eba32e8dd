//! The products of a tile.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Arithmetic, Element, Global, GlobalMut};

use super::lookups::{Lookups, MaskSums};
use super::parts::{RowPart, WeighedRows, TILE};
use super::stage::{stage_bytes, EntryStage, StagedEntry};
use crate::block::search::partition_point;
use crate::semiring::{InMaxPlus, InMaxTimes, InMinFirst, InMinPlus, InOrAnd, InPlusPair, InPlusTimes};
use crate::{GlobalCsr, GlobalPattern, Offset};

kernel! {
    /// Adds up the products at the entries of a mask: one warp per tile of [`TILE`] of the weight of A's entries.
    pub struct SpgemmMaskedMultiply<V: Arithmetic, O: Offset> {
        /// A.
        pub a: GlobalCsr<V, O>,
        /// B, whose columns ascend within rows.
        pub b: GlobalCsr<V, O>,
        /// The mask, whose columns ascend within rows.
        pub mask: GlobalPattern<O>,
        /// The weight before each entry of A, and that of all at the end.
        pub weights: Global<u64>,
        /// The sums of further parts before those of each row; read only for heavy rows.
        pub first_sums: Global<u64>,
        /// The sums of the first parts of rows, one per entry of the mask; zero before.
        pub values: GlobalMut<V>,
        /// The sums of further parts, zero before.
        pub part_sums: GlobalMut<V>,
    }
    shared: BLOCK * stage_bytes(V::SIZE);
    body: SpgemmMaskedMultiply::multiply::<BLOCK>;
    entries: {
        spgemm_masked_multiply_{V}_{O} in spgemm_masked_{V}: V in [f32, f64], O in [u32, u64], 128 x 1;
        spgemm_masked_multiply_{V}_{O} in spgemm_masked_{V}:
            (V, R) in [(Complex<f32> as c32, 0), (Complex<f64> as c64, 7)], O in [u32, u64], 128 x 1 resident R;
        semiring_masked_multiply_{V}_{O} in semiring_masked_plus_times:
            V in [InPlusTimes<u32> as plus_times_u32, InPlusTimes<u64> as plus_times_u64], O in [u32, u64], 128 x 1;
        semiring_masked_multiply_{V}_{O} in semiring_masked_min_plus:
            V in [InMinPlus<f32> as min_plus_f32, InMinPlus<f64> as min_plus_f64,
                InMinPlus<u32> as min_plus_u32, InMinPlus<u64> as min_plus_u64,
                InMinPlus<i32> as min_plus_i32, InMinPlus<i64> as min_plus_i64], O in [u32, u64], 128 x 1;
        semiring_masked_multiply_{V}_{O} in semiring_masked_max:
            V in [InMaxPlus<f32> as max_plus_f32, InMaxPlus<f64> as max_plus_f64,
                InMaxPlus<i32> as max_plus_i32, InMaxPlus<i64> as max_plus_i64,
                InMaxTimes<f32> as max_times_f32, InMaxTimes<f64> as max_times_f64], O in [u32, u64], 128 x 1;
        semiring_masked_multiply_{V}_{O} in semiring_masked_pattern:
            V in [InOrAnd<u32> as or_and_u32, InPlusPair<u32> as plus_pair_u32,
                InPlusPair<u64> as plus_pair_u64, InMinFirst<f32> as min_first_f32,
                InMinFirst<f64> as min_first_f64, InMinFirst<u32> as min_first_u32,
                InMinFirst<u64> as min_first_u64], O in [u32, u64], 128 x 1;
    }
}

/// Entries of A in consecutive rows.
#[derive(Clone, Copy)]
struct EntryRange {
    begin: usize,
    end: usize,
    rows: (u32, u32),
}

impl<V: Arithmetic, O: Offset> SpgemmMaskedMultiply<V, O> {
    #[device]
    fn multiply<const BLOCK: usize>(self, mut arena: Arena) {
        // 1. Find the rows that begin in the warp's tile.
        let stage = EntryStage::<V>::take::<BLOCK>(&mut arena);
        let rows = self.a.rows;
        let weighed = WeighedRows { row_offsets: self.a.row_offsets, before: self.weights };
        let warps = BLOCK as u64 / u64::from(thread::WARP_SIZE);
        let tile = (u64::from(thread::block()) * warps + u64::from(thread::warp())) * TILE;
        if tile >= self.weights.load(self.a.nonzeros as usize) {
            return;
        }
        let first = weighed.first_from(0, rows, tile);
        let end = weighed.first_from(first, rows, tile + TILE);
        // 2. Multiply the part of the row before that begins here, if it is heavy.
        if first > 0 && weighed.is_heavy(first - 1) {
            self.multiply_part(stage, weighed, first - 1, tile);
        }
        // 3. Multiply the rows that begin here. The last may be heavy: then its first part is multiplied.
        let ends_heavy = end > first && weighed.is_heavy(end - 1);
        let light_end = if ends_heavy { end - 1 } else { end };
        let entries = EntryRange {
            begin: self.a.row_offsets.load(first as usize).to_usize(),
            end: self.a.row_offsets.load(light_end as usize).to_usize(),
            rows: (first, light_end),
        };
        self.multiply_entries(stage, entries, MaskSums { sums: self.values, first: 0 });
        if ends_heavy {
            self.multiply_part(stage, weighed, end - 1, tile);
        }
    }

    /// Adds up the part of a heavy row that begins in the tile, if one does.
    #[device(track_caller)]
    fn multiply_part(self, stage: EntryStage<V>, weighed: WeighedRows<O>, row: u32, tile: u64) {
        let in_mask = self.mask.entries_if(row, true);
        let Some(RowPart { number, begin, end }) = weighed.part(row, in_mask.len.into(), tile) else {
            return;
        };
        let sums = if number == 0 {
            self.values.skip(in_mask.begin)
        } else {
            let before = self.first_sums.load(row as usize) + (number - 1) * u64::from(in_mask.len);
            self.part_sums.skip(before as usize)
        };
        let entries = EntryRange { begin, end, rows: (row, row + 1) };
        self.multiply_entries(stage, entries, MaskSums { sums, first: in_mask.begin });
    }

    /// Adds up the products of entries of A, staged one per lane at a time, in their order.
    #[device(track_caller)]
    fn multiply_entries(self, stage: EntryStage<V>, entries: EntryRange, sums: MaskSums<V>) {
        let a = self.a;
        let lookups = Lookups { b: self.b, mask: self.mask, sums };
        let mut first = entries.begin;
        while first < entries.end {
            let entry = first + thread::lane() as usize;
            let is_entry = entry < entries.end;
            let (first_row, end_row) = entries.rows;
            let row = partition_point(first_row, end_row - 1, |row| {
                is_entry && a.row_offsets.load(row as usize + 1).to_usize() <= entry
            });
            let column = a.column_indices.load_if(entry, is_entry);
            let staged = StagedEntry {
                left: a.values.load_if(entry, is_entry),
                in_b: self.b.pattern().entries_if(column, is_entry),
                in_mask: self.mask.entries_if(row, is_entry),
            };
            let end = warp::inclusive_sum(u64::from(staged.lookups()));
            // The previous entries have been read.
            warp::sync(warp::FULL);
            stage.store(staged, end);
            warp::sync(warp::FULL);
            lookups.multiply(stage);
            first += thread::WARP_SIZE as usize;
        }
    }
}
