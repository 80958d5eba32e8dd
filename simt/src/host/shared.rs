//! Shared memory of one simulated block, with a shadow that finds races.
//!
//! Two accesses to a byte race if different threads make them, at least one writes, not both are atomic, and
//! no barrier orders them: they are in one *epoch* of the block (block barriers end it), and the threads are
//! of different warps, or of one warp without a warp barrier between them. The latter is detected by
//! *clocks*: a warp barrier sets the clocks of its lanes to one more than their maximum. A barrier of other
//! lanes of the warp counts as order too, so every reported race is real; a race only between partial warp
//! barriers may be missed.
//!
//! Shadows are kept per word of 4 bytes, and per byte in words that were ever accessed in part.

use parking_lot::Mutex;

use super::fault::{AccessKind, FaultKind};
use crate::operation::WARP_SIZE;

/// Thread and time of an access.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stamp {
    pub(crate) thread: u32,
    pub(crate) clock: u32,
}

#[derive(Debug, Default)]
pub(crate) struct SharedMemory {
    /// The bytes of the block; there may be more from an earlier one.
    len: usize,
    bytes: Vec<u8>,
    words: Vec<Word>,
    parts: Parts,
    epoch: u32,
    /// Tells words of this block from those of earlier ones.
    block: u16,
}

/// Memories of blocks that have ended. The next block renews the words that it uses.
static SPARE: Mutex<Vec<SharedMemory>> = Mutex::new(Vec::new());
/// Maximum number of spare memories, and of the words of each: 64 MiB in all, with the shadows.
const MAX_SPARE: usize = 64;
const MAX_SPARE_WORDS: usize = 16 * 1024;

/// State of 4 bytes, one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(64))]
struct Word {
    whole: Shadow,
    /// One more than the position of the bytes' shadows, once one was accessed alone; then `whole` is no longer used.
    parts: u32,
    /// A bit for each byte, set once written.
    written: u8,
    /// The block that last used the word.
    block: u16,
}

/// Shadows of the bytes of words that were accessed in part.
type Parts = Vec<[Shadow; 4]>;

/// Accesses to a word or byte in one epoch, by kind.
#[derive(Debug, Clone, Copy, Default)]
struct Shadow {
    epoch: u32,
    /// A bit for each kind of access in this epoch; `accesses` of other kinds are from earlier epochs.
    kinds: u8,
    accesses: [Accesses; 3],
}

/// Accesses of one kind: the minimum to decide if another access is ordered after all of them. Threads of a block have
/// numbers of 16 bits, so that a word and its shadow are one cache line.
#[derive(Debug, Clone, Copy, Default)]
struct Accesses {
    /// The first thread, and the first one of another warp.
    first: u16,
    first_elsewhere: u16,
    /// An access with the latest clock, and the previous one by another thread: no other can be unordered
    /// before an access of the former thread, whose clock is as late.
    latest: u16,
    latest_other: u16,
    latest_clock: u32,
    latest_other_clock: u32,
}

/// No thread.
const NONE: u16 = u16::MAX;

const _: () = assert!(size_of::<Word>() == 64);

/// The bits of all bytes in a word.
const ALL: u8 = 0b1111;

impl SharedMemory {
    /// Returns memory that nothing was written to.
    pub(crate) fn new(bytes: u32) -> Self {
        let mut memory = SPARE.lock().pop().unwrap_or_default();
        memory.renew(bytes as usize);
        memory
    }

    /// Forgets what an earlier block wrote.
    fn renew(&mut self, len: usize) {
        self.len = len;
        self.parts.clear();
        self.epoch = 1;
        self.block = self.block.wrapping_add(1);
        if self.block == 0 {
            self.words.fill(Word::default());
            self.block = 1;
        }
        if self.bytes.len() < len {
            self.bytes.resize(len, 0);
            self.words.resize(len.div_ceil(4), Word::default());
        }
    }

    /// Keeps the memory for a later block.
    pub(crate) fn spare(self) {
        let mut spare = SPARE.lock();
        if spare.len() < MAX_SPARE && self.words.len() <= MAX_SPARE_WORDS {
            spare.push(self);
        }
    }

    /// Ends the epoch: everything before is ordered before everything after.
    pub(crate) fn barrier(&mut self) {
        self.epoch += 1;
    }

    /// Accesses 1, 2, 4 or 8 bytes; `update` receives the old value and returns the new one. A read's
    /// `update` is ignored. Returns the old value.
    #[inline]
    pub(crate) fn access(
        &mut self,
        kind: AccessKind,
        address: u32,
        size: usize,
        now: Stamp,
        update: impl FnOnce(u64) -> u64,
    ) -> Result<u64, FaultKind> {
        self.note(kind, address, size, now)?;
        let old = self.load(address as usize, size);
        if kind != AccessKind::Read {
            self.store(address as usize, size, update(old));
        }
        Ok(old)
    }

    /// Checks an access and records it.
    fn note(&mut self, kind: AccessKind, address: u32, size: usize, now: Stamp) -> Result<(), FaultKind> {
        let start = address as usize;
        if start + size > self.len {
            return Err(FaultKind::OutsideShared { address, bytes: size as u32, size: self.len as u32 });
        }
        // Sizes are powers of two.
        if start & (size - 1) != 0 {
            return Err(FaultKind::Misaligned { address: u64::from(address), bytes: size as u64 });
        }
        let bytes = if size < 4 { ((1 << size) - 1) << (start % 4) } else { ALL };
        let words = &mut self.words[start / 4..(start + size).div_ceil(4)];
        for word in words.iter_mut().filter(|word| word.block != self.block) {
            *word = Word { block: self.block, ..Word::default() };
        }
        if kind != AccessKind::Write && words.iter().any(|word| word.written & bytes != bytes) {
            return Err(FaultKind::UninitializedShared { address, bytes: size as u32 });
        }
        for word in words {
            let noted = word.note(&mut self.parts, (kind, bytes), self.epoch, now);
            let race = |(other, that)| FaultKind::SharedRace {
                address,
                thread: now.thread,
                this: kind,
                other,
                that,
            };
            noted.map_err(race)?;
            if kind != AccessKind::Read {
                word.written |= bytes;
            }
        }
        Ok(())
    }

    fn load(&self, start: usize, size: usize) -> u64 {
        let from = &self.bytes[start..];
        match (size, from.first_chunk::<8>(), from.first_chunk::<4>()) {
            (8, Some(&bytes), _) => u64::from_le_bytes(bytes),
            (4, _, Some(&bytes)) => u32::from_le_bytes(bytes).into(),
            _ => from[..size].iter().rev().fold(0, |high, &byte| high << 8 | u64::from(byte)),
        }
    }

    fn store(&mut self, start: usize, size: usize, value: u64) {
        let to = &mut self.bytes[start..][..size];
        match size {
            8 => to.copy_from_slice(&value.to_le_bytes()),
            4 => to.copy_from_slice(&(value as u32).to_le_bytes()),
            _ => to.iter_mut().zip(value.to_le_bytes()).for_each(|(to, byte)| *to = byte),
        }
    }
}

impl Word {
    /// Records an access of some bytes; fails with the thread whose access it races with.
    #[inline]
    fn note(
        &mut self,
        parts: &mut Parts,
        (kind, bytes): (AccessKind, u8),
        epoch: u32,
        now: Stamp,
    ) -> Result<(), (u32, AccessKind)> {
        if bytes == ALL && self.parts == 0 {
            return self.whole.note(kind, epoch, now);
        }
        if self.parts == 0 {
            parts.push([self.whole; 4]);
            self.parts = parts.len() as u32;
        }
        let accessed = parts[self.parts as usize - 1].iter_mut().enumerate();
        let accessed = accessed.filter(|(byte, _)| bytes >> byte & 1 == 1);
        accessed.map(|(_, shadow)| shadow).try_for_each(|shadow| shadow.note(kind, epoch, now))
    }
}

impl Shadow {
    #[inline]
    fn note(&mut self, kind: AccessKind, epoch: u32, now: Stamp) -> Result<(), (u32, AccessKind)> {
        use AccessKind::{Atomic, Read, Write};
        if self.epoch != epoch {
            (self.epoch, self.kinds) = (epoch, 0);
        }
        let bit = |kind: AccessKind| 1 << kind as u8;
        let harmless = if kind == Write { 0 } else { bit(kind) };
        if self.kinds & !harmless != 0 {
            for that in [Write, Atomic, Read] {
                if self.kinds & bit(that) & !harmless != 0 {
                    if let Some(other) = self.accesses[that as usize].racing(now) {
                        return Err((other, that));
                    }
                }
            }
        }
        let own = &mut self.accesses[kind as usize];
        if self.kinds & bit(kind) == 0 {
            self.kinds |= bit(kind);
            *own = Accesses::of(now);
        } else {
            own.note(now);
        }
        Ok(())
    }
}

fn same_warp(a: u16, b: u16) -> bool {
    u32::from(a) / WARP_SIZE == u32::from(b) / WARP_SIZE
}

impl Accesses {
    /// One access.
    #[inline]
    fn of(now: Stamp) -> Self {
        let thread = now.thread as u16;
        Self {
            first: thread,
            first_elsewhere: NONE,
            latest: thread,
            latest_other: NONE,
            latest_clock: now.clock,
            latest_other_clock: 0,
        }
    }

    /// Returns one of these threads whose access is not ordered before `now`.
    #[inline]
    fn racing(&self, now: Stamp) -> Option<u32> {
        let thread = now.thread as u16;
        if !same_warp(self.first, thread) {
            return Some(self.first.into());
        }
        // Otherwise, if all are of one warp, it is that of `now`.
        if self.first_elsewhere != NONE {
            return Some(self.first_elsewhere.into());
        }
        let last = [(self.latest, self.latest_clock), (self.latest_other, self.latest_other_clock)];
        let is_unordered =
            |&(before, clock): &(u16, u32)| before != NONE && before != thread && clock >= now.clock;
        last.into_iter().find(is_unordered).map(|(before, _)| before.into())
    }

    #[inline]
    fn note(&mut self, now: Stamp) {
        let thread = now.thread as u16;
        if self.first_elsewhere == NONE && !same_warp(self.first, thread) {
            self.first_elsewhere = thread;
        }
        // A thread's own clock never decreases.
        if self.latest == thread {
            self.latest_clock = now.clock;
        } else if now.clock >= self.latest_clock {
            (self.latest_other, self.latest_other_clock) = (self.latest, self.latest_clock);
            (self.latest, self.latest_clock) = (thread, now.clock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of two warps.
    const THREADS: [u32; 5] = [0, 1, 2, 32, 33];

    /// Returns whether two accesses race, by the definition.
    fn race(before: (AccessKind, Stamp), now: (AccessKind, Stamp)) -> bool {
        use AccessKind::{Atomic, Read};
        let harmless = before.0 == now.0 && matches!(now.0, Read | Atomic);
        let (before, now) = (before.1, now.1);
        let ordered = before.thread == now.thread
            || (same_warp(before.thread as u16, now.thread as u16) && now.clock > before.clock);
        !harmless && !ordered
    }

    #[test]
    fn nothing_of_an_earlier_block_is_left() {
        let mut memory = SharedMemory::default();
        // More blocks than a word can tell apart.
        for block in 0..70_000 {
            memory.renew([8, 4, 16][block % 3]);
            let now = Stamp { thread: block as u32 % 7, clock: 0 };
            for (address, size) in [(0, 4), (3, 1)] {
                let read = memory.access(AccessKind::Read, address, size, now, |old| old);
                let is_refused = matches!(read, Err(FaultKind::UninitializedShared { .. }));
                assert!(is_refused, "block {block}, address {address}: {read:?}");
            }
            let outside = memory.access(AccessKind::Write, 16, 4, now, |_| 1);
            assert!(matches!(outside, Err(FaultKind::OutsideShared { .. })), "block {block}: {outside:?}");
            memory.access(AccessKind::Write, 0, 4, now, |_| 7).expect("no other thread was there");
            memory.access(AccessKind::Write, 3, 1, now, |_| 7).expect("nor in a part");
        }
    }

    #[test]
    fn a_shadow_agrees_with_a_list_of_all_accesses() {
        let (mut clean, mut races) = (0, 0);
        for seed in 0..20_000_u64 {
            let mut state = seed;
            let mut random = |below: usize| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
                (state >> 33) as usize % below
            };
            let mut memory = SharedMemory::new(8);
            memory.access(AccessKind::Write, 0, 8, Stamp::default(), |_| 0).expect("nobody was there");
            memory.barrier();
            let mut clocks = [0; THREADS.len()];
            // All accesses since the last barrier, by byte.
            let mut bytes = vec![Vec::new(); 8];
            // Few kinds and sizes per run, otherwise most runs end early.
            let writes = random(8);
            for _ in 0..12 {
                let warp = if random(2) == 0 { 0..3 } else { 3..5 };
                match random(10) {
                    0 => {
                        memory.barrier();
                        bytes.iter_mut().for_each(Vec::clear);
                        continue;
                    }
                    1 | 2 => {
                        let latest = clocks[warp.clone()].iter().max().copied().unwrap_or(0);
                        let skipped = random(4);
                        warp.filter(|&at| at != skipped).for_each(|at| clocks[at] = latest + 1);
                        continue;
                    }
                    _ => {}
                }
                let at = random(THREADS.len());
                let now = Stamp { thread: THREADS[at], clock: clocks[at] };
                let kind = match random(8) {
                    0 => AccessKind::Atomic,
                    dice if dice <= writes => AccessKind::Read,
                    _ => AccessKind::Write,
                };
                let size = [1, 2, 4, 8][random(4)];
                let start = random(8 / size) * size;
                let expected =
                    bytes[start..start + size].iter().flatten().any(|&before| race(before, (kind, now)));
                let found = memory.access(kind, start as u32, size, now, |old| old).is_err();
                assert_eq!(
                    found, expected,
                    "seed {seed}: {kind:?} of {size} bytes at {start}, {now:?}, {bytes:?}"
                );
                if found {
                    races += 1;
                    break;
                }
                clean += 1;
                bytes[start..start + size].iter_mut().for_each(|list| list.push((kind, now)));
            }
        }
        assert!(clean > 1000 && races > 1000, "{clean} accesses without a race, {races} with one");
    }
}
