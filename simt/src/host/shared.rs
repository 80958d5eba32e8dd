//! Shared memory of one simulated block, with a shadow that finds races.
//!
//! Two accesses to a word race if different threads make them, one of them writes, not both are
//! atomic, and no barrier orders them: they lie in one *epoch* of the block (block barriers end it),
//! and the threads are of different warps, or of one warp with no warp barrier between. The latter is
//! told by *clocks*: a warp barrier sets the clocks of its lanes to one more than their largest.
//! Order through a barrier of other lanes of the warp is taken for order too, so nothing is reported
//! that is none; what races only among partial warp barriers can be missed.

use super::fault::{AccessKind, FaultKind};

/// Who accesses, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp {
    pub(crate) thread: u32,
    pub(crate) clock: u32,
}

#[derive(Debug)]
pub(crate) struct SharedMemory {
    bytes: Vec<u8>,
    written: Vec<bool>,
    shadow: Vec<Shadow>,
    epoch: u32,
}

const NOBODY: u32 = u32::MAX;

/// The last accesses to a word of 4 bytes in the epochs it was last written and read in.
#[derive(Debug, Clone, Copy)]
struct Shadow {
    write_epoch: u32,
    read_epoch: u32,
    writer: Stamp,
    writer_atomic: bool,
    /// Which of the word's bytes the last write touched.
    write_mask: u8,
    read_mask: u8,
    reader: Stamp,
    /// Another thread that read in this epoch before `reader`; the latest clock of all such.
    other_reader: Stamp,
    /// Readers of this epoch are of more than one warp.
    many_warps: bool,
}

impl Default for Shadow {
    fn default() -> Self {
        let nobody = Stamp { thread: NOBODY, clock: 0 };
        Self {
            write_epoch: 0,
            read_epoch: 0,
            writer: nobody,
            writer_atomic: false,
            write_mask: 0,
            read_mask: 0,
            reader: nobody,
            other_reader: nobody,
            many_warps: false,
        }
    }
}

/// Whether `before` is ordered before `now` within one epoch.
fn ordered(before: Stamp, now: Stamp) -> bool {
    before.thread == now.thread || (before.thread / 32 == now.thread / 32 && now.clock > before.clock)
}

impl SharedMemory {
    pub(crate) fn new(bytes: u32) -> Self {
        let bytes = bytes as usize;
        Self {
            bytes: vec![0; bytes],
            written: vec![false; bytes],
            shadow: vec![Shadow::default(); bytes.div_ceil(4)],
            // Shadows start in epoch 0, which nothing belongs to.
            epoch: 1,
        }
    }

    /// Ends the epoch: everything before is ordered before everything after.
    pub(crate) fn barrier(&mut self) {
        self.epoch += 1;
    }

    /// Makes an access of `size` bytes; `update` gets what is there and returns what shall be.
    /// A read's `update` is ignored. Returns what was there.
    pub(crate) fn access(
        &mut self,
        kind: AccessKind,
        address: u32,
        size: usize,
        now: Stamp,
        update: impl FnOnce(u64) -> u64,
    ) -> Result<u64, FaultKind> {
        let start = address as usize;
        let end = start + size;
        if end > self.bytes.len() {
            return Err(FaultKind::OutsideShared {
                address,
                bytes: size as u32,
                size: self.bytes.len() as u32,
            });
        }
        if !start.is_multiple_of(size) {
            return Err(FaultKind::Misaligned { address: u64::from(address), bytes: size as u64 });
        }
        if kind != AccessKind::Write && !self.written[start..end].iter().all(|&written| written) {
            return Err(FaultKind::UninitialisedShared { address, bytes: size as u32 });
        }
        for word in start / 4..end.div_ceil(4) {
            let first = start.max(word * 4) - word * 4;
            let last = end.min(word * 4 + 4) - word * 4;
            let mask = (1u8 << last) - (1u8 << first);
            self.shadow[word].note(kind, self.epoch, mask, now).map_err(|(other, that)| {
                FaultKind::SharedRace { address, thread: now.thread, this: kind, other, that }
            })?;
        }
        let mut word = [0; 8];
        word[..size].copy_from_slice(&self.bytes[start..end]);
        let old = u64::from_le_bytes(word);
        if kind != AccessKind::Read {
            self.bytes[start..end].copy_from_slice(&update(old).to_le_bytes()[..size]);
            self.written[start..end].fill(true);
        }
        Ok(old)
    }
}

impl Shadow {
    /// Records an access; with which other thread's access it races, if it does.
    fn note(&mut self, kind: AccessKind, epoch: u32, mask: u8, now: Stamp) -> Result<(), (u32, AccessKind)> {
        let both_atomic = kind == AccessKind::Atomic && self.writer_atomic;
        if self.write_epoch == epoch
            && self.write_mask & mask != 0
            && !both_atomic
            && !ordered(self.writer, now)
        {
            let that = if self.writer_atomic { AccessKind::Atomic } else { AccessKind::Write };
            return Err((self.writer.thread, that));
        }
        if kind == AccessKind::Read {
            self.note_read(epoch, mask, now);
            return Ok(());
        }
        if self.read_epoch == epoch && self.read_mask & mask != 0 {
            for reader in [self.reader, self.other_reader] {
                let across = self.many_warps && reader.thread != now.thread;
                if reader.thread != NOBODY && (across || !ordered(reader, now)) {
                    return Err((reader.thread, AccessKind::Read));
                }
            }
        }
        self.write_epoch = epoch;
        self.writer = now;
        self.writer_atomic = kind == AccessKind::Atomic;
        self.write_mask = mask;
        Ok(())
    }

    fn note_read(&mut self, epoch: u32, mask: u8, now: Stamp) {
        if self.read_epoch != epoch {
            self.read_epoch = epoch;
            self.read_mask = 0;
            self.reader = now;
            self.other_reader = Stamp { thread: NOBODY, clock: 0 };
            self.many_warps = false;
        }
        self.read_mask |= mask;
        if self.reader.thread != now.thread {
            self.many_warps |= self.reader.thread / 32 != now.thread / 32;
            if self.other_reader.thread == NOBODY || self.other_reader.clock <= self.reader.clock {
                self.other_reader = self.reader;
            }
        }
        self.reader = now;
    }
}
