//! The products of a tile.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Arithmetic, Element, Global, GlobalMut};

use super::parts::{RowPart, WeighedRows, TILE};
use super::stage::{stage_bytes, EntryStage, StagedEntry};
use crate::block::search::partition_point;
use crate::semiring::{InMaxPlus, InMaxTimes, InMinFirst, InMinPlus, InOrAnd, InPlusPair, InPlusTimes};
use crate::{GlobalCsr, GlobalPattern, Offset};

/// Lookups that a lane has in flight.
const IN_FLIGHT: usize = 2;

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
        spgemm_masked_multiply_{V}_{O} in spgemm_masked_{V}: V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 128 x 1;
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

/// Sums, one per entry of the mask.
#[derive(Clone, Copy)]
struct MaskSums<V> {
    sums: GlobalMut<V>,
    /// The entry of the mask that the first sum is of.
    first: usize,
}

/// Entries of A in consecutive rows.
#[derive(Clone, Copy)]
struct EntryRange {
    begin: usize,
    end: usize,
    rows: (u32, u32),
}

/// A product at an entry of the mask, if there is one.
#[derive(Clone, Copy)]
struct Hit<V> {
    left: V,
    right: V,
    /// The entry of the mask.
    place: usize,
    is_some: bool,
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
            self.multiply_staged(stage, sums);
            first += thread::WARP_SIZE as usize;
        }
    }

    /// Adds up the products of the staged entries, one lookup per lane at a time.
    #[device(track_caller)]
    fn multiply_staged(self, stage: EntryStage<V>, sums: MaskSums<V>) {
        let lookups = stage.lookups();
        let mut first = 0;
        while first < lookups {
            let own = first + u64::from(thread::lane());
            let (mut slot, mut column) = ([0; IN_FLIGHT], [0; IN_FLIGHT]);
            for at in 0..IN_FLIGHT {
                let lookup = own + at as u64 * u64::from(thread::WARP_SIZE);
                slot[at] = stage.slot(lookup);
                let (entry, place) = stage.entry(slot[at], lookup);
                let is_some = lookup < lookups;
                column[at] = if entry.looks_up_b() {
                    self.b.column_indices.load_if(entry.in_b.begin + place as usize, is_some)
                } else {
                    self.mask.column_indices.load_if(entry.in_mask.begin + place as usize, is_some)
                };
            }
            for at in 0..IN_FLIGHT {
                let lookup = own + at as u64 * u64::from(thread::WARP_SIZE);
                let (entry, place) = stage.entry(slot[at], lookup);
                let hit = self.look_up(entry, place, column[at], lookup < lookups);
                sums.add(hit);
            }
            first += IN_FLIGHT as u64 * u64::from(thread::WARP_SIZE);
        }
    }

    /// Looks up a column of the shorter row, its `place`th, in the longer.
    #[device(track_caller)]
    fn look_up(self, entry: StagedEntry<V>, place: u32, column: u32, is_some: bool) -> Hit<V> {
        let StagedEntry { left, in_b, in_mask } = entry;
        let looks_up_b = entry.looks_up_b();
        let (columns, longer) =
            if looks_up_b { (self.mask.column_indices, in_mask) } else { (self.b.column_indices, in_b) };
        let columns = columns.skip(longer.begin);
        let len = if is_some { longer.len } else { 0 };
        let at = partition_point(0, len, |at| columns.load(at as usize) < column);
        let is_there = at < len && columns.load(at as usize) == column;
        let (of_b, of_mask) = if looks_up_b { (place, at) } else { (at, place) };
        let right = self.b.values.load_if(in_b.begin + of_b as usize, is_there);
        Hit { left, right, place: in_mask.begin + of_mask as usize, is_some: is_there }
    }
}

impl<V: Arithmetic> MaskSums<V> {
    /// Adds the products of the lanes, those of one sum in the order of lanes. Called by the whole warp, which is synchronized after.
    #[device(track_caller)]
    fn add(self, hit: Hit<V>) {
        let hits = warp::ballot(warp::FULL, hit.is_some);
        if hits == 0 {
            return;
        }
        // Lanes that do not add to one sum may match too, and then take turns in vain.
        let same = warp::match_any(warp::FULL, hit.place as u32) & hits;
        let own_turn = warp::count_below(same);
        let mut turn = 0;
        while warp::any(warp::FULL, hit.is_some && own_turn >= turn) {
            if hit.is_some && own_turn == turn {
                let sum = hit.place - self.first;
                self.sums.store(sum, hit.left.fma(hit.right, self.sums.load(sum)));
            }
            warp::sync(warp::FULL);
            turn += 1;
        }
    }
}
