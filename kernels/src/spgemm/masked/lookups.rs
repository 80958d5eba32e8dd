//! Lookups of the columns of the shorter of two rows in the longer one, and the products that they find.

use evenpath_simt::{device, thread, warp, Arithmetic, GlobalMut};

use super::stage::{EntryStage, StagedEntry};
use crate::block::search::partition_point;
use crate::{GlobalCsr, GlobalPattern, Offset};

/// Lookups that a lane has in flight.
const IN_FLIGHT: usize = 2;

/// Mean number of lookups per staged entry at which a warp takes one entry after the other. Sums do not depend on it.
const WIDE: u32 = 16;

/// B, the mask and the sums.
#[derive(Clone, Copy)]
pub(super) struct Lookups<V: Arithmetic, O: Offset> {
    pub(super) b: GlobalCsr<V, O>,
    pub(super) mask: GlobalPattern<O>,
    pub(super) sums: MaskSums<V>,
}

/// Sums, one per entry of the mask.
#[derive(Clone, Copy)]
pub(super) struct MaskSums<V> {
    pub(super) sums: GlobalMut<V>,
    /// The entry of the mask that the first sum is of.
    pub(super) first: usize,
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

impl<V: Arithmetic, O: Offset> Lookups<V, O> {
    /// Adds up the products of the staged entries, those of each sum in the order of entries. Called by the whole warp.
    #[device(track_caller)]
    pub(super) fn multiply(self, stage: EntryStage<V>) {
        let lookups = stage.lookups();
        if lookups >= u64::from(WIDE * thread::WARP_SIZE) {
            self.multiply_by_entry(stage);
        } else {
            self.multiply_by_lookup(stage, lookups as u32);
        }
    }

    /// Takes one entry after the other: its lookups are distributed over the lanes, and never find the same sum.
    #[device(track_caller)]
    fn multiply_by_entry(self, stage: EntryStage<V>) {
        let mut slot = 0;
        while slot < thread::WARP_SIZE {
            let mut column = [0; IN_FLIGHT];
            for at in 0..IN_FLIGHT {
                let entry = stage.entry(slot + at as u32);
                column[at] = self.column_if(&entry, thread::lane(), thread::lane() < entry.lookups());
            }
            for at in 0..IN_FLIGHT {
                let entry = stage.entry(slot + at as u32);
                let (mut column, mut place, mut left) = (column[at], thread::lane(), entry.lookups());
                loop {
                    let hit = self.look_up(&entry, place, column, thread::lane() < left);
                    if hit.is_some {
                        self.sums.add(hit);
                    }
                    if left <= thread::WARP_SIZE {
                        break;
                    }
                    left -= thread::WARP_SIZE;
                    place += thread::WARP_SIZE;
                    column = self.column_if(&entry, place, thread::lane() < left);
                }
                // The next entry may add to the same sums.
                warp::sync(warp::FULL);
            }
            slot += IN_FLIGHT as u32;
        }
    }

    /// Takes as many lookups at a time as there are lanes, whichever entries they are of.
    #[device(track_caller)]
    fn multiply_by_lookup(self, stage: EntryStage<V>, lookups: u32) {
        let mut first = 0;
        while first < lookups {
            let own = first + thread::lane();
            let (mut slot, mut place, mut column) = ([0; IN_FLIGHT], [0; IN_FLIGHT], [0; IN_FLIGHT]);
            for at in 0..IN_FLIGHT {
                let lookup = own + at as u32 * thread::WARP_SIZE;
                (slot[at], place[at]) = stage.find(lookup);
                column[at] = self.column_if(&stage.entry(slot[at]), place[at], lookup < lookups);
            }
            for at in 0..IN_FLIGHT {
                let is_some = own + (at as u32 * thread::WARP_SIZE) < lookups;
                let hit = self.look_up(&stage.entry(slot[at]), place[at], column[at], is_some);
                self.sums.add_in_order(hit);
            }
            first += IN_FLIGHT as u32 * thread::WARP_SIZE;
        }
    }

    /// Returns a column of the shorter row of an entry, its `place`th, if `wanted`.
    #[device(track_caller)]
    fn column_if(self, entry: &StagedEntry<V>, place: u32, wanted: bool) -> u32 {
        let (columns, shorter) = if entry.looks_up_b() {
            (self.b.column_indices, entry.in_b)
        } else {
            (self.mask.column_indices, entry.in_mask)
        };
        columns.load_if(shorter.begin + place as usize, wanted)
    }

    /// Looks up a column of the shorter row of an entry, its `place`th, in the longer.
    #[device(track_caller)]
    fn look_up(self, entry: &StagedEntry<V>, place: u32, column: u32, is_some: bool) -> Hit<V> {
        let &StagedEntry { left, in_b, in_mask } = entry;
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
    #[device(track_caller)]
    fn add(self, hit: Hit<V>) {
        let sum = hit.place - self.first;
        self.sums.store(sum, hit.left.fma(hit.right, self.sums.load(sum)));
    }

    /// Adds the products of the lanes, those of one sum in the order of lanes. Called by the whole warp, which is synchronized after.
    #[device(track_caller)]
    fn add_in_order(self, hit: Hit<V>) {
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
                self.add(hit);
            }
            warp::sync(warp::FULL);
            turn += 1;
        }
    }
}
