//! Shared memory of one simulated block, with a shadow that finds races.
//!
//! Two accesses to a byte race if different threads make them, one of them writes, not both are
//! atomic, and no barrier orders them: they lie in one *epoch* of the block (block barriers end it),
//! and the threads are of different warps, or of one warp with no warp barrier between. The latter is
//! told by *clocks*: a warp barrier sets the clocks of its lanes to one more than their largest.
//! Order through a barrier of other lanes of the warp is taken for order too, so nothing is reported
//! that is none; what races only among partial warp barriers can be missed.
//!
//! Shadows are kept a word of 4 bytes, and a byte in words that were ever accessed in part.

use std::collections::HashMap;

use super::fault::{AccessKind, FaultKind};
use crate::thread::WARP_SIZE;

/// Who accesses, and when.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stamp {
    pub(crate) thread: u32,
    pub(crate) clock: u32,
}

#[derive(Debug)]
pub(crate) struct SharedMemory {
    bytes: Vec<u8>,
    written: Vec<bool>,
    words: Vec<Shadow>,
    /// The shadows of words that are accessed in part, one a byte; `words` no longer counts for them.
    parts: HashMap<usize, [Shadow; 4]>,
    epoch: u32,
}

/// What happened to a word or byte since the last barrier, by kind of access.
#[derive(Debug, Clone, Copy, Default)]
struct Shadow {
    reads: Accesses,
    writes: Accesses,
    atomics: Accesses,
}

/// The accesses of one kind in one epoch: as many of them as it takes to know whether another
/// access is ordered after them all. With epoch 0 there are none, and nothing else counts.
#[derive(Debug, Clone, Copy, Default)]
struct Accesses {
    epoch: u32,
    /// The thread that came first, and the first one of another warp.
    first: u32,
    first_elsewhere: Option<u32>,
    /// An access with the latest clock, and the one before it by another thread: nothing else can be
    /// unordered before an access of the former thread, whose clock is as late.
    latest: Stamp,
    latest_other: Option<Stamp>,
}

impl SharedMemory {
    pub(crate) fn new(bytes: u32) -> Self {
        let bytes = bytes as usize;
        Self {
            bytes: vec![0; bytes],
            written: vec![false; bytes],
            words: vec![Shadow::default(); bytes.div_ceil(4)],
            parts: HashMap::new(),
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
            return Err(FaultKind::UninitializedShared { address, bytes: size as u32 });
        }
        self.note(kind, start, size, now).map_err(|(other, that)| FaultKind::SharedRace {
            address,
            thread: now.thread,
            this: kind,
            other,
            that,
        })?;
        let mut word = [0; 8];
        word[..size].copy_from_slice(&self.bytes[start..end]);
        let old = u64::from_le_bytes(word);
        if kind != AccessKind::Read {
            self.bytes[start..end].copy_from_slice(&update(old).to_le_bytes()[..size]);
            self.written[start..end].fill(true);
        }
        Ok(old)
    }

    /// Records an access; with which other thread's access it races, if it does.
    #[inline]
    fn note(
        &mut self,
        kind: AccessKind,
        start: usize,
        size: usize,
        now: Stamp,
    ) -> Result<(), (u32, AccessKind)> {
        for word in start / 4..(start + size).div_ceil(4) {
            if size >= 4 && !self.parts.contains_key(&word) {
                self.words[word].note(kind, self.epoch, now)?;
            } else {
                let bytes = self.parts.entry(word).or_insert([self.words[word]; 4]);
                let part = if size < 4 { start % 4..start % 4 + size } else { 0..4 };
                bytes[part].iter_mut().try_for_each(|byte| byte.note(kind, self.epoch, now))?;
            }
        }
        Ok(())
    }
}

impl Shadow {
    #[inline]
    fn note(&mut self, kind: AccessKind, epoch: u32, now: Stamp) -> Result<(), (u32, AccessKind)> {
        use AccessKind::{Atomic, Read, Write};
        let Self { reads, writes, atomics } = self;
        for (others, that, harmless) in
            [(&*writes, Write, None), (&*atomics, Atomic, Some(Atomic)), (&*reads, Read, Some(Read))]
        {
            if harmless != Some(kind) {
                if let Some(other) = others.racing(epoch, now) {
                    return Err((other, that));
                }
            }
        }
        match kind {
            Read => reads.note(epoch, now),
            Write => writes.note(epoch, now),
            Atomic => atomics.note(epoch, now),
        }
        Ok(())
    }
}

fn same_warp(a: u32, b: u32) -> bool {
    a / WARP_SIZE == b / WARP_SIZE
}

impl Accesses {
    /// A thread of these whose access is not ordered before `now`.
    #[inline]
    fn racing(&self, epoch: u32, now: Stamp) -> Option<u32> {
        if self.epoch != epoch {
            return None;
        }
        if !same_warp(self.first, now.thread) {
            return Some(self.first);
        }
        // Else, if all are of one warp, it is `now`'s.
        self.first_elsewhere.or_else(|| {
            let unordered = |before: &Stamp| before.thread != now.thread && before.clock >= now.clock;
            [Some(self.latest), self.latest_other].into_iter().flatten().find(unordered).map(|it| it.thread)
        })
    }

    #[inline]
    fn note(&mut self, epoch: u32, now: Stamp) {
        if self.epoch != epoch {
            *self = Self { epoch, first: now.thread, first_elsewhere: None, latest: now, latest_other: None };
            return;
        }
        if !same_warp(self.first, now.thread) {
            self.first_elsewhere.get_or_insert(now.thread);
        }
        // A thread's own clock never goes back.
        if self.latest.thread == now.thread {
            self.latest = now;
        } else if now.clock >= self.latest.clock {
            self.latest_other = Some(self.latest);
            self.latest = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads of two warps.
    const THREADS: [u32; 5] = [0, 1, 2, 32, 33];

    /// Whether two accesses race, from the definition.
    fn race(before: (AccessKind, Stamp), now: (AccessKind, Stamp)) -> bool {
        use AccessKind::{Atomic, Read};
        let harmless = before.0 == now.0 && matches!(now.0, Read | Atomic);
        let (before, now) = (before.1, now.1);
        let ordered =
            before.thread == now.thread || (same_warp(before.thread, now.thread) && now.clock > before.clock);
        !harmless && !ordered
    }

    #[test]
    fn a_shadow_knows_what_a_list_of_all_accesses_tells() {
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
            // Few kinds and sizes in one run, or most runs end early.
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
