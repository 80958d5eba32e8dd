//! Entries of A in shared memory, one per lane of a warp, and their lookups.

use evenpath_simt::{device, thread, Arena, Element, Shared};

use crate::block::search::partition_point;
use crate::spgemm::row_wise::RowEntries;

/// Bytes of shared memory per thread, for values of `value_bytes`.
pub(super) const fn stage_bytes(value_bytes: usize) -> usize {
    3 * 8 + 2 * 4 + value_bytes
}

/// Entries of A in shared memory: a warp's part.
#[derive(Clone, Copy)]
pub(super) struct EntryStage<V> {
    /// The lookups of the entries up to each.
    ends: Shared<u64>,
    b_begins: Shared<u64>,
    mask_begins: Shared<u64>,
    lefts: Shared<V>,
    b_lens: Shared<u32>,
    mask_lens: Shared<u32>,
}

/// An entry of A with the rows of B and of the mask that are intersected for it.
#[derive(Clone, Copy)]
pub(super) struct StagedEntry<V> {
    pub(super) left: V,
    pub(super) in_b: RowEntries,
    pub(super) in_mask: RowEntries,
}

impl<V: Element> EntryStage<V> {
    #[device(track_caller)]
    pub(super) fn take<const BLOCK: usize>(arena: &mut Arena) -> Self {
        let first = (thread::warp() * thread::WARP_SIZE) as usize;
        let all: [Shared<u64>; 3] = [arena.take(BLOCK), arena.take(BLOCK), arena.take(BLOCK)];
        let lefts: Shared<V> = arena.take(BLOCK);
        let lens: [Shared<u32>; 2] = [arena.take(BLOCK), arena.take(BLOCK)];
        Self {
            ends: all[0].skip(first),
            b_begins: all[1].skip(first),
            mask_begins: all[2].skip(first),
            lefts: lefts.skip(first),
            b_lens: lens[0].skip(first),
            mask_lens: lens[1].skip(first),
        }
    }

    /// Stores the lane's entry. `end` is the number of lookups of the entries up to it. The warp must synchronize before and after.
    #[device(track_caller)]
    pub(super) fn store(self, entry: StagedEntry<V>, end: u64) {
        let lane = thread::lane() as usize;
        self.ends.store(lane, end);
        self.b_begins.store(lane, entry.in_b.begin as u64);
        self.mask_begins.store(lane, entry.in_mask.begin as u64);
        self.lefts.store(lane, entry.left);
        self.b_lens.store(lane, entry.in_b.len);
        self.mask_lens.store(lane, entry.in_mask.len);
    }

    /// Returns the number of lookups of all entries.
    #[device(track_caller)]
    pub(super) fn lookups(self) -> u64 {
        self.ends.load(thread::WARP_SIZE as usize - 1)
    }

    /// Returns the slot of a lookup's entry, and the number of the lookup among those of the entry. For lookups after the last, it is
    /// some slot.
    #[device(track_caller)]
    pub(super) fn find(self, lookup: u32) -> (u32, u32) {
        let last = thread::WARP_SIZE - 1;
        let slot = partition_point(0, last, |slot| self.ends.load(slot as usize) <= u64::from(lookup));
        let before = if slot > 0 { self.ends.load(slot as usize - 1) as u32 } else { 0 };
        (slot, lookup - before)
    }

    /// Returns the entry in a slot.
    #[device(track_caller)]
    pub(super) fn entry(self, slot: u32) -> StagedEntry<V> {
        let slot = slot as usize;
        StagedEntry {
            left: self.lefts.load(slot),
            in_b: RowEntries { begin: self.b_begins.load(slot) as usize, len: self.b_lens.load(slot) },
            in_mask: RowEntries {
                begin: self.mask_begins.load(slot) as usize,
                len: self.mask_lens.load(slot),
            },
        }
    }
}

impl<V> StagedEntry<V> {
    /// Returns whether the columns of the row of B are looked up in the mask, and not the other way around.
    #[device]
    pub(super) fn looks_up_b(&self) -> bool {
        self.in_b.len <= self.in_mask.len
    }

    /// Returns the number of lookups.
    #[device]
    pub(super) fn lookups(&self) -> u32 {
        self.in_b.len.min(self.in_mask.len)
    }
}
