//! Detection of unordered accesses of a launch's blocks to global memory.
//!
//! Order between blocks is that of the memory model: an operation that releases at an address happens before
//! one that acquires there and sees its value, or that of a later update; a fence gives both effects to the
//! relaxed operations around it. Each block counts its releases, its *epoch*, and keeps a vector clock of the
//! epochs of other blocks that happen before its next access.
//!
//! A note on each word of 4 bytes records the block that wrote it last, the epoch, and if atomically. An
//! access is in order if the block itself wrote, if both are atomic, or if the epoch is on its clock. Plain
//! writes of the present value are allowed. For a word that blocks write in parts, only the last part is
//! recorded. Reads are not recorded: a write after another block's read is found when blocks run in another
//! order.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

use super::mix::{mix, IntegerMap};
use super::streams::StreamOperation;
use crate::operation::{Ordering, Scope};

/// Maximum number of distinct epochs in a note; later ones count as this one.
const LAST_EPOCH: u32 = 0xff;

/// Kind of access: atomic or plain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Plain,
    Atomic,
}

/// A note on a word of 4 bytes: launch, how, epoch, block and bytes take 19, 1, 8, 32, and 4 bits.
#[derive(Debug, Clone, Copy)]
struct Note(u64);

impl Note {
    fn new(launch: u64, how: How, epoch: u32, block: u32, bytes: u8) -> Self {
        let epoch = u64::from(epoch.min(LAST_EPOCH));
        let how = u64::from(how == How::Atomic);
        Self(launch << 45 | how << 44 | epoch << 36 | u64::from(block) << 4 | u64::from(bytes))
    }

    fn launch(self) -> u64 {
        self.0 >> 45
    }

    fn is_atomic(self) -> bool {
        self.0 >> 44 & 1 == 1
    }

    fn epoch(self) -> u32 {
        (self.0 >> 36) as u32 & LAST_EPOCH
    }

    fn block(self) -> u32 {
        (self.0 >> 4) as u32
    }

    fn bytes(self) -> u8 {
        self.0 as u8 & 0xf
    }
}

/// Epochs that happen before an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VectorClock {
    /// Last epoch of each block.
    epochs: IntegerMap<u32, u32>,
    /// The last time that was visible, see [`WeakMemory`](super::weak::WeakMemory).
    visible: u64,
}

impl VectorClock {
    pub(crate) fn join(&mut self, other: &Self) {
        for (&block, &epoch) in &other.epochs {
            let own = self.epochs.entry(block).or_default();
            *own = epoch.max(*own);
        }
        self.visible = self.visible.max(other.visible);
    }
}

/// A block's knowledge of the others' accesses to global memory.
#[derive(Debug)]
pub(crate) struct Observer {
    /// The launch, among the operations of all streams.
    pub(crate) operation: StreamOperation,
    pub(crate) block: u32,
    /// Counts the block's releases, starting at 1.
    epoch: Cell<u32>,
    /// Clock of the block's next access.
    seen: RefCell<VectorClock>,
    /// Clock that the block's last fence releases through later relaxed stores.
    fenced: RefCell<Option<Arc<VectorClock>>>,
    /// Clock that the block's next fence acquires from earlier relaxed loads.
    unfenced: RefCell<VectorClock>,
    random: Cell<u64>,
}

impl Observer {
    pub(crate) fn new(operation: StreamOperation, block: u32, seed: u64) -> Self {
        Self {
            operation,
            block,
            epoch: Cell::new(1),
            seen: RefCell::default(),
            fenced: RefCell::default(),
            unfenced: RefCell::default(),
            random: Cell::new(mix(seed ^ u64::from(block))),
        }
    }

    /// Draws a random bit.
    pub(crate) fn coin(&self) -> bool {
        self.random.set(mix(self.random.get()));
        self.random.get() & 1 == 1
    }

    /// Returns the time until which the block must see values that became visible.
    pub(crate) fn acquired_until(&self) -> u64 {
        self.seen.borrow().visible
    }

    /// Returns the clock that an atomic store or update at time `now` passes to those who acquire it.
    pub(crate) fn releases(&self, ordering: Ordering, scope: Scope, now: u64) -> Option<Arc<VectorClock>> {
        if is_release(ordering, scope) {
            Some(Arc::new(self.next_epoch(now)))
        } else {
            self.fenced.borrow().clone()
        }
    }

    /// Merges the clock of a value that an atomic load or update saw.
    pub(crate) fn observes(&self, clock: Option<&Arc<VectorClock>>, ordering: Ordering, scope: Scope) {
        if let Some(clock) = clock {
            let taken = if is_acquire(ordering, scope) { &self.seen } else { &self.unfenced };
            taken.borrow_mut().join(clock);
        }
    }

    /// A fence for the whole device.
    pub(crate) fn fence(&self, now: u64) {
        self.seen.borrow_mut().join(&self.unfenced.take());
        *self.fenced.borrow_mut() = Some(Arc::new(self.next_epoch(now)));
    }

    /// Returns the clock of the end of this epoch, and starts the next.
    fn next_epoch(&self, now: u64) -> VectorClock {
        let epoch = self.epoch.get();
        self.epoch.set(epoch.saturating_add(1));
        let mut clock = self.seen.borrow().clone();
        clock.epochs.insert(self.block, epoch);
        clock.visible = now;
        clock
    }

    /// Returns the block that wrote some of the bytes and is not ordered before this access.
    #[inline]
    pub(crate) fn racing(&self, note: &AtomicU64, how: How, bytes: u8) -> Option<u32> {
        let note = Note(note.load(Relaxed));
        let is_harmless = note.launch() != self.operation.number
            || note.block() == self.block
            || note.bytes() & bytes == 0
            || (note.is_atomic() && how == How::Atomic);
        if is_harmless
            || self.seen.borrow().epochs.get(&note.block()).is_some_and(|&seen| seen >= note.epoch())
        {
            return None;
        }
        Some(note.block())
    }

    /// Records a write; merges bytes that the same block wrote before, in the same way and epoch.
    #[inline]
    pub(crate) fn note_write(&self, note: &AtomicU64, how: How, bytes: u8) {
        let own = Note::new(self.operation.number, how, self.epoch.get(), self.block, 0).0;
        let old = note.load(Relaxed);
        let bytes = if old & !0xf == own { old as u8 & 0xf | bytes } else { bytes };
        note.store(own | u64::from(bytes), Relaxed);
    }
}

/// Records that the host wrote some bytes of a word.
pub(crate) fn note_host_write(note: &AtomicU64, operation: &StreamOperation, bytes: u8) {
    note.store(Note::new(operation.number, How::Plain, LAST_EPOCH, u32::MAX, bytes).0, Relaxed);
}

/// Returns the stream of the operation that wrote some of the bytes, if it is not ordered before `operation`, and not
/// both are atomic.
#[inline]
pub(crate) fn unordered_writer(
    note: &AtomicU64,
    operation: &StreamOperation,
    how: How,
    bytes: u8,
) -> Option<u32> {
    let (unordered, note) = (operation.unordered.as_ref()?, Note(note.load(Relaxed)));
    if note.bytes() & bytes == 0 || (note.is_atomic() && how == How::Atomic) {
        return None;
    }
    unordered.stream(note.launch())
}

/// Returns whether an operation orders earlier accesses, for other blocks.
pub(crate) fn is_release(ordering: Ordering, scope: Scope) -> bool {
    scope != Scope::Block && matches!(ordering, Ordering::Release | Ordering::AcquireRelease)
}

/// Returns whether an operation orders later accesses, for other blocks.
pub(crate) fn is_acquire(ordering: Ordering, scope: Scope) -> bool {
    scope != Scope::Block && matches!(ordering, Ordering::Acquire | Ordering::AcquireRelease)
}
