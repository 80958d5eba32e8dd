//! A launch: the blocks of a grid on the CPU's threads.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::block::{Block, BlockProgress, Launch};
use super::fault::{Fault, FaultKind, Place};
use super::mix::mix;
use super::options::{BlockOrder, SimulatedOptions};

/// A launch in progress: the blocks still to start, and the state shared by its CPU threads.
pub(super) struct RunningLaunch<'a> {
    launch: Launch<'a>,
    options: SimulatedOptions,
    shuffle: Option<u64>,
    next: AtomicUsize,
    stop: AtomicBool,
    fault: Mutex<Option<Fault>>,
}

impl<'a> RunningLaunch<'a> {
    pub(super) fn new(launch: Launch<'a>, options: SimulatedOptions) -> Self {
        let shuffle = match options.block_order {
            BlockOrder::Ascending => None,
            BlockOrder::Seeded(seed) => Some(seed),
        };
        Self {
            launch,
            options,
            shuffle,
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            fault: Mutex::new(None),
        }
    }

    /// Runs on separate threads: while a pool's thread waits for the others, it would take up work of the
    /// caller's, which may need this device and deadlock.
    pub(super) fn run(self) -> Result<(), Fault> {
        std::thread::scope(|scope| {
            for _ in 1..self.options.cpu_threads().min(self.launch.grid as usize) {
                // If no thread can be started, this one runs all blocks.
                let _ = std::thread::Builder::new().spawn_scoped(scope, || self.work());
            }
            self.work();
        });
        self.fault.into_inner().map_or(Ok(()), Err)?;
        Ok(self.launch.weak.finish()?)
    }

    /// Returns the next block to start.
    fn next_block(&self) -> Option<u32> {
        let position = self.next.fetch_add(1, Relaxed);
        let position = u32::try_from(position).ok().filter(|&position| position < self.launch.grid)?;
        Some(self.shuffle.map_or(position, |seed| permute(position, self.launch.grid, seed)))
    }

    /// Makes due atomic stores visible, and some that are held if all blocks wait. Returns whether there were
    /// any.
    fn show_stores(&self, all_wait: bool) -> Result<bool, Fault> {
        let weak = self.launch.weak;
        weak.advance()?;
        Ok(all_wait && weak.unblock()?)
    }

    /// Work of one CPU thread: runs blocks, and keeps those that wait for others in flight.
    fn work(&self) {
        let mut resident: Vec<Block<'a>> = Vec::new();
        let mut next = None;
        let mut patience = Patience::new(self.options.patience_seconds);
        loop {
            let (mut moved, mut only_polls) = (false, true);
            if resident.len() < self.options.resident_blocks.max(1) {
                next = next.or_else(|| self.next_block());
                if let Some(block) = next.and_then(|index| Block::new(self.launch, index)) {
                    resident.push(block);
                    next = None;
                    (moved, only_polls) = (true, false);
                }
            }
            if (resident.is_empty() && next.is_none()) || self.stop.load(Relaxed) {
                return;
            }
            let mut result = Ok(());
            resident.retain_mut(|block| match block.advance() {
                _ if result.is_err() => false,
                Ok(progress) => {
                    moved |= progress != BlockProgress::None;
                    only_polls &= matches!(progress, BlockProgress::None | BlockProgress::Polling);
                    progress != BlockProgress::Done
                }
                Err(fault) => {
                    result = Err(fault);
                    false
                }
            });
            if result.is_ok() {
                result = self.show_stores(only_polls).and_then(|shown| {
                    if moved || shown {
                        Ok(())
                    } else {
                        patience.wait(self, resident.len())
                    }
                });
            }
            if let Err(fault) = result {
                self.fault.lock().get_or_insert(fault);
                self.stop.store(true, Relaxed);
            }
        }
    }
}

/// Time since blocks that only poll have found a change.
struct Patience {
    limit: Duration,
    since: Instant,
    seen: u64,
}

impl Patience {
    fn new(seconds: u64) -> Self {
        Self { limit: Duration::from_secs(seconds), since: Instant::now(), seen: 0 }
    }

    fn wait(&mut self, run: &RunningLaunch<'_>, waiting: usize) -> Result<(), Fault> {
        let progress = run.launch.progress.load(Relaxed);
        if progress != self.seen {
            self.seen = progress;
            self.since = Instant::now();
        }
        if self.since.elapsed() > self.limit {
            let place = Place { kernel: run.launch.kernel.name, block: None, thread: None, line: None };
            let kind = FaultKind::NoProgress { seconds: self.limit.as_secs(), waiting };
            return Err(Fault { place: Some(place), kind });
        }
        std::thread::yield_now();
        Ok(())
    }
}

/// Permutes `0..len`: a Feistel network over the next even power of two, repeated until the result is inside.
fn permute(position: u32, len: u32, seed: u64) -> u32 {
    let half_bits = (32 - (len - 1).leading_zeros()).max(2).div_ceil(2);
    let mask = (1u64 << half_bits) - 1;
    let mut value = u64::from(position);
    loop {
        for round in 0..4 {
            let (left, right) = (value >> half_bits, value & mask);
            value = right << half_bits | (left ^ mix(seed ^ (right << 3 | round)) & mask);
        }
        if value < u64::from(len) {
            return value as u32;
        }
    }
}
