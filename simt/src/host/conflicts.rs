//! Finds blocks of one launch that meet in global memory with nothing to order them.
//!
//! What one block writes, another may touch only after the first has *released* it and the other has
//! *acquired*: by a device-wide atomic of such an ordering, or a fence. Who wrote a word is noted with
//! the number of releases of that block so far; as long as that number has not grown, or the other
//! block has acquired nothing at all, no order is possible, so nothing is reported that is none. A
//! release that orders other writes hides a missing one. Writes of what is there already are let pass.
//! Of a word that blocks write by parts, the last part only is remembered.
//! Reads are not noted: a write after another block's read is found where blocks run in another order.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::atomic::{Ordering, Scope};

/// Blocks share counters modulo this: then a release of another may count as a block's own.
const COUNTERS: usize = 1024;
/// Launches told apart; then all notes are forgotten.
pub(crate) const LAUNCHES: u64 = 1 << 20;

/// A note on a word of 4 bytes, of which launch, releases, block and bytes take 20, 8, 32, and 4 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Note(pub(crate) u64);

#[derive(Debug, Default)]
struct Counters {
    releases: AtomicU32,
    acquires: AtomicU32,
}

#[derive(Debug)]
pub(crate) struct Conflicts {
    launch: u64,
    counters: Box<[Counters]>,
}

impl Note {
    fn new(launch: u64, releases: u32, block: u32, bytes: u8) -> Self {
        let releases = u64::from(releases.min(0xff));
        Self(launch << 44 | releases << 36 | u64::from(block) << 4 | u64::from(bytes))
    }

    fn releases(self) -> u32 {
        (self.0 >> 36 & 0xff) as u32
    }

    fn block(self) -> u32 {
        (self.0 >> 4) as u32
    }
}

impl Conflicts {
    /// For a launch with a number of 1 to `LAUNCHES` − 1.
    pub(crate) fn new(launch: u64) -> Self {
        Self { launch, counters: (0..COUNTERS).map(|_| Counters::default()).collect() }
    }

    fn counters(&self, block: u32) -> &Counters {
        &self.counters[block as usize % COUNTERS]
    }

    /// To be told before an atomic operation or a fence, so that who sees its effect sees the count.
    pub(crate) fn note_ordering(&self, block: u32, ordering: Ordering, scope: Scope) {
        if scope == Scope::Block {
            return;
        }
        if matches!(ordering, Ordering::Release | Ordering::AcquireRelease) {
            self.counters(block).releases.fetch_add(1, Relaxed);
        }
        if matches!(ordering, Ordering::Acquire | Ordering::AcquireRelease) {
            self.counters(block).acquires.fetch_add(1, Relaxed);
        }
    }

    /// The block that wrote some of the bytes with no order before this access.
    #[inline]
    pub(crate) fn racing(&self, note: &AtomicU64, block: u32, bytes: u8) -> Option<u32> {
        let note = Note(note.load(Relaxed));
        if note.0 >> 44 != self.launch || note.block() == block || note.0 as u8 & 0xf & bytes == 0 {
            return None;
        }
        // The note has room for so many only.
        let unreleased =
            self.counters(note.block()).releases.load(Relaxed) == note.releases() && note.releases() < 0xff;
        (unreleased || self.counters(block).acquires.load(Relaxed) == 0).then_some(note.block())
    }

    /// Notes a write; of the bytes that the same block wrote before, with no release between, too.
    #[inline]
    pub(crate) fn note_write(&self, note: &AtomicU64, block: u32, bytes: u8) {
        let releases = self.counters(block).releases.load(Relaxed);
        let own = Note::new(self.launch, releases, block, 0).0;
        let old = note.load(Relaxed);
        let bytes = if old & !0xf == own { old as u8 & 0xf | bytes } else { bytes };
        note.store(own | u64::from(bytes), Relaxed);
    }
}
