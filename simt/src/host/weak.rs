//! Atomic operations on global memory, as weak as the GPU's memory model allows.
//!
//! A relaxed store becomes visible to other blocks late, and stores to different addresses do so in any
//! order, until the block releases them; a relaxed load may return the value before the last one. The
//! guarantees are those of a GPU: each address has one order of values, and no block goes back in it; a block
//! sees its own stores; an update (add, exchange, ...) always uses the last value; and an acquiring block
//! sees everything that was released to it.
//!
//! Stores that no other block sees yet are *held*. Their delay is drawn for each launch, see [`Delay`]:
//! independent random delays hardly ever delay all the stores that a mistake depends on. Held stores are
//! released when nothing else makes progress, so blocks that wait for one another do not hang.
//!
//! Plain loads and stores are not delayed: if another block could observe this, they are a race, which is
//! reported.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

use parking_lot::Mutex;

use super::conflicts::{is_release, Observer, VectorClock};
use super::fault::{AccessKind, FaultKind};
use super::memory::Memory;
use super::mix::{mix, IntegerMap};
use crate::operation::{Ordering, Scope};

/// Number of locks, among which addresses are distributed.
const SHARDS: usize = 64;

/// Delay of stores in a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delay {
    /// None, and loads return the last value: memory is sequentially consistent.
    None,
    /// A random delay for each.
    Random,
    /// The first store to an address is visible at once, later ones when nothing else makes progress: hints
    /// arrive, results do not.
    Overwrites,
    /// All of them when nothing else makes progress.
    All,
}

impl Delay {
    /// Draws the delay of a launch.
    pub(crate) fn draw(random: u64) -> Self {
        [Self::None, Self::Random, Self::Overwrites, Self::All][random as usize % 4]
    }
}

/// Memory access of an atomic operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtomicAccess {
    pub(crate) address: u64,
    pub(crate) size: usize,
    pub(crate) ordering: Ordering,
    pub(crate) scope: Scope,
}

/// Atomic operations of a launch.
#[derive(Debug)]
pub(crate) struct WeakMemory<'a> {
    memory: &'a Memory,
    delay: Delay,
    shards: Box<[Mutex<Shard>]>,
    /// Number of held stores.
    held: AtomicUsize,
    /// True if any address has a history.
    in_use: AtomicBool,
    /// Counts values that became visible.
    time: AtomicU64,
    random: AtomicU64,
}

#[derive(Debug, Default)]
struct Shard {
    histories: IntegerMap<u64, History>,
    /// The address of each held store, in order, and of some that are no longer held.
    held: Vec<u64>,
}

/// History of an address in this launch.
#[derive(Debug, Default)]
struct History {
    size: usize,
    /// Clock that the value in memory passes to those who acquire it.
    clock: Option<Arc<VectorClock>>,
    /// The previous value, unless it was never written.
    previous: Option<(u64, Option<Arc<VectorClock>>)>,
    /// Time when the value became visible.
    since: u64,
    /// The blocks that have seen it.
    seen_by: Vec<u32>,
    /// True if it was stored to.
    is_stored: bool,
    held: Vec<Store>,
}

#[derive(Debug)]
struct Store {
    block: u32,
    bits: u64,
    clock: Option<Arc<VectorClock>>,
}

impl<'a> WeakMemory<'a> {
    pub(crate) fn new(memory: &'a Memory, delay: Delay, seed: u64) -> Self {
        Self {
            memory,
            delay,
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            held: AtomicUsize::new(0),
            in_use: AtomicBool::new(false),
            time: AtomicU64::new(0),
            random: AtomicU64::new(seed),
        }
    }

    /// Stores atomically.
    pub(crate) fn store(&self, by: &Observer, access: AtomicAccess, bits: u64) -> Result<(), FaultKind> {
        let AtomicAccess { address, size, .. } = access;
        self.memory.note_atomic(address, size, by, AccessKind::Write)?;
        let clock = self.release_for(by, access)?;
        self.in_use.store(true, Relaxed);
        let mut shard = self.shard(address).lock();
        let Shard { histories, held } = &mut *shard;
        let history = histories.entry(address).or_insert_with(|| History { size, ..History::default() });
        let is_first = !std::mem::replace(&mut history.is_stored, true);
        history.held.push(Store { block: by.block, bits, clock });
        self.held.fetch_add(1, Relaxed);
        match self.delay {
            Delay::None => self.show_all_of(history, address, by.block),
            Delay::Overwrites if is_first => self.show_all_of(history, address, by.block),
            _ => {
                held.push(address);
                Ok(())
            }
        }
    }

    /// Loads atomically.
    pub(crate) fn load(&self, by: &Observer, access: AtomicAccess) -> Result<u64, FaultKind> {
        let AtomicAccess { address, size, ordering, scope } = access;
        self.memory.note_atomic(address, size, by, AccessKind::Read)?;
        if !self.in_use.load(Relaxed) {
            return self.memory.load(address, size);
        }
        let mut shard = self.shard(address).lock();
        let Some(history) = shard.histories.get_mut(&address) else {
            return self.memory.load(address, size);
        };
        if let Some(own) = history.held.iter().rev().find(|store| store.block == by.block) {
            return Ok(own.bits);
        }
        if let Some((bits, clock)) = &history.previous {
            let may_see = self.delay != Delay::None
                && history.since > by.acquired_until()
                && !history.seen_by.contains(&by.block);
            if may_see && by.coin() {
                by.observes(clock.as_ref(), ordering, scope);
                return Ok(*bits);
            }
        }
        if !history.seen_by.contains(&by.block) {
            history.seen_by.push(by.block);
        }
        by.observes(history.clock.as_ref(), ordering, scope);
        self.memory.load(address, size)
    }

    /// Replaces an element by `update` of it, atomically; returns the old value.
    pub(crate) fn update(
        &self,
        by: &Observer,
        access: AtomicAccess,
        update: impl Fn(u64) -> u64,
    ) -> Result<u64, FaultKind> {
        let AtomicAccess { address, size, ordering, scope } = access;
        self.memory.note_atomic(address, size, by, AccessKind::Atomic)?;
        let clock = self.release_for(by, access)?;
        if clock.is_some() {
            self.in_use.store(true, Relaxed);
        } else if !self.in_use.load(Relaxed) {
            return self.memory.update(address, size, update);
        }
        let mut shard = self.shard(address).lock();
        if clock.is_some() {
            shard.histories.entry(address).or_insert_with(|| History { size, ..History::default() });
        }
        let Some(history) = shard.histories.get_mut(&address) else {
            return self.memory.update(address, size, update);
        };
        self.show_all_of(history, address, by.block)?;
        let old = self.memory.update(address, size, update)?;
        by.observes(history.clock.as_ref(), ordering, scope);
        history.previous = Some((old, history.clock.clone()));
        history.since = self.time.fetch_add(1, Relaxed) + 1;
        history.seen_by = vec![by.block];
        // An update passes on the clock of the previous value.
        history.clock = match (history.clock.take(), clock) {
            (Some(before), Some(own)) => {
                let mut both = (*own).clone();
                both.join(&before);
                Some(Arc::new(both))
            }
            (before, own) => before.or(own),
        };
        Ok(old)
    }

    /// Returns a fence for the whole device.
    pub(crate) fn fence(&self, by: &Observer) -> Result<(), FaultKind> {
        self.show_stores_of(by.block)?;
        by.fence(self.time.load(Relaxed));
        Ok(())
    }

    /// Called before a block's plain access, which sees, and comes after, the block's own atomic stores.
    #[inline]
    pub(crate) fn before_plain_access(&self, by: &Observer, address: u64) -> Result<(), FaultKind> {
        if self.held.load(Relaxed) == 0 {
            return Ok(());
        }
        let mut shard = self.shard(address).lock();
        for word in [address & !7, address & !7 | 4] {
            if let Some(history) = shard.histories.get_mut(&word) {
                self.show_all_of(history, word, by.block)?;
            }
        }
        Ok(())
    }

    /// Makes some stores visible as time passes.
    #[inline]
    pub(crate) fn advance(&self) -> Result<(), FaultKind> {
        if self.delay == Delay::Random && self.held.load(Relaxed) > 0 {
            self.show_some(|| self.coin())?;
        }
        Ok(())
    }

    /// Makes about half of the held stores visible, at least one. Returns whether there were any.
    pub(crate) fn unblock(&self) -> Result<bool, FaultKind> {
        if self.held.load(Relaxed) == 0 {
            return Ok(false);
        }
        if !self.show_some(|| self.coin())? {
            self.show_some(|| true)?;
        }
        Ok(true)
    }

    /// Makes all stores visible at the end of the launch.
    pub(crate) fn finish(&self) -> Result<(), FaultKind> {
        while self.held.load(Relaxed) > 0 {
            self.show_some(|| true)?;
        }
        Ok(())
    }

    fn shard(&self, address: u64) -> &Mutex<Shard> {
        &self.shards[mix(address / 8) as usize % SHARDS]
    }

    fn coin(&self) -> bool {
        mix(self.random.fetch_add(1, Relaxed)) & 1 == 1
    }

    /// Returns the clock that a store or an update releases; makes the block's earlier stores visible if its
    /// ordering requires it.
    fn release_for(
        &self,
        by: &Observer,
        AtomicAccess { ordering, scope, .. }: AtomicAccess,
    ) -> Result<Option<Arc<VectorClock>>, FaultKind> {
        if is_release(ordering, scope) {
            self.show_stores_of(by.block)?;
        }
        Ok(by.releases(ordering, scope, self.time.load(Relaxed)))
    }

    /// Makes every store of a block visible.
    fn show_stores_of(&self, block: u32) -> Result<(), FaultKind> {
        if self.held.load(Relaxed) == 0 {
            return Ok(());
        }
        for shard in &self.shards {
            let Shard { histories, held } = &mut *shard.lock();
            for address in held {
                if let Some(history) = histories.get_mut(address) {
                    self.show_all_of(history, *address, block)?;
                }
            }
        }
        Ok(())
    }

    /// Makes chosen stores visible. Returns whether there were any.
    fn show_some(&self, chosen: impl Fn() -> bool) -> Result<bool, FaultKind> {
        let mut any = false;
        for shard in &self.shards {
            let Shard { histories, held } = &mut *shard.lock();
            let mut at = 0;
            while at < held.len() {
                if !chosen() {
                    at += 1;
                    continue;
                }
                let address = held.swap_remove(at);
                if let Some(history) = histories.get_mut(&address).filter(|history| !history.held.is_empty())
                {
                    let any_of = mix(self.random.fetch_add(1, Relaxed)) as usize % history.held.len();
                    let block = history.held[any_of].block;
                    self.show_first_of(history, address, block)?;
                    any = true;
                }
            }
        }
        Ok(any)
    }

    /// Makes the stores of a block to one address visible.
    fn show_all_of(&self, history: &mut History, address: u64, block: u32) -> Result<(), FaultKind> {
        while self.show_first_of(history, address, block)? {}
        Ok(())
    }

    /// Makes the first of a block's stores to one address visible. Returns whether there was one.
    fn show_first_of(&self, history: &mut History, address: u64, block: u32) -> Result<bool, FaultKind> {
        let Some(first) = history.held.iter().position(|store| store.block == block) else {
            return Ok(false);
        };
        let store = history.held.remove(first);
        self.held.fetch_sub(1, Relaxed);
        let old = self.memory.load(address, history.size).ok();
        self.memory.store(address, history.size, store.bits)?;
        history.previous = old.map(|bits| (bits, history.clock.take()));
        history.clock = store.clock;
        history.since = self.time.fetch_add(1, Relaxed) + 1;
        history.seen_by = vec![block];
        Ok(true)
    }
}
