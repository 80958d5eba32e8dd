//! The device itself: its memory, its limits, and launches of grids.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use super::block::{Block, Launch, Progress};
use super::conflicts::LAUNCHES;
use super::fault::{Fault, FaultKind, Place};
use super::memory::{Memory, OutOfMemory};
use super::mix;
use super::options::{BlockOrder, MemoryOrder, SimulatedOptions};
use super::read_only::ReadOnlyMemory;
use super::weak::{Delay, WeakMemory};
use crate::kernel::{Argument, Kernel, KernelInfo, Simulation};

/// The largest statically sized shared memory, and grid, of any GPU.
const MAX_STATIC_SHARED: u32 = 48 * 1024;
const MAX_GRID: u32 = i32::MAX as u32;

/// A GPU that the CPU simulates.
#[derive(Debug)]
pub struct SimulatedGpu {
    options: SimulatedOptions,
    /// Launches hold it for reading. Host operations that copy or change memory hold it for writing: they wait for launches.
    memory: RwLock<Memory>,
    /// Counts launches.
    launches: AtomicU64,
}

impl SimulatedGpu {
    /// A device with nothing allocated.
    pub fn new(options: SimulatedOptions) -> Self {
        Self { options, memory: RwLock::new(Memory::new(options.memory_bytes)), launches: AtomicU64::new(1) }
    }

    /// CPU threads that run the blocks of a large grid.
    pub fn cpu_threads(&self) -> usize {
        self.options.cpu_threads()
    }

    /// What the device is like.
    pub fn options(&self) -> SimulatedOptions {
        self.options
    }

    /// Free bytes and all bytes of global memory.
    pub fn memory(&self) -> (u64, u64) {
        self.memory.read().free_and_total()
    }

    /// Allocates global memory, which reads as never written; returns its address.
    ///
    /// # Errors
    ///
    /// If the device does not have that much memory left.
    pub fn allocate(&self, bytes: u64) -> Result<u64, OutOfMemory> {
        self.memory.write().allocate(bytes)
    }

    /// Frees an allocation.
    ///
    /// # Errors
    ///
    /// If the address is not that of a live allocation.
    pub fn free(&self, address: u64) -> Result<(), Fault> {
        Ok(self.memory.write().release(address)?)
    }

    /// Copies bytes from the host.
    ///
    /// # Errors
    ///
    /// If the range is not inside one live allocation; then nothing is written.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        Ok(self.memory.write().write(address, bytes)?)
    }

    /// Copies bytes to the host.
    ///
    /// # Errors
    ///
    /// If the range is not inside one live allocation, or nothing wrote some byte of it.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        Ok(self.memory.write().read(address, bytes)?)
    }

    /// Sets every byte of a range.
    ///
    /// # Errors
    ///
    /// If the range is not inside one live allocation; then nothing is written.
    pub fn fill(&self, address: u64, bytes: u64, value: u8) -> Result<(), Fault> {
        let memory = self.memory.write();
        memory.check_range(address, bytes)?;
        let chunk = [value; 4096];
        let mut done = 0;
        while done < bytes {
            let take = (bytes - done).min(chunk.len() as u64);
            memory.write(address + done, &chunk[..take as usize])?;
            done += take;
        }
        Ok(())
    }

    /// Copies bytes within the device; the ranges may not overlap.
    ///
    /// # Errors
    ///
    /// If a range is not inside one live allocation; then nothing is written.
    pub fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), Fault> {
        Ok(self.memory.write().copy(from, to, bytes)?)
    }

    /// Runs a kernel, whose body is `simulation`, over `grid` blocks of its declared size, with `dynamic_shared` bytes of
    /// shared memory beside the statically sized ones, and waits for it.
    ///
    /// # Errors
    ///
    /// If the launch is beyond a limit, or the kernel made a mistake.
    pub fn launch(
        &self,
        kernel: &KernelInfo,
        simulation: Simulation,
        grid: u32,
        dynamic_shared: u32,
        arguments: &[Argument],
    ) -> Result<(), Fault> {
        self.check_launch(kernel, grid, dynamic_shared, arguments).map_err(|kind| {
            let place = Place { kernel: kernel.name, block: None, thread: None, line: None };
            Fault { place: Some(place), kind }
        })?;
        let number = loop {
            match self.launches.fetch_add(1, Relaxed) % LAUNCHES {
                0 => self.memory.write().forget_writers(),
                number => break number,
            }
        };
        let memory = self.memory.read();
        let progress = AtomicU64::new(0);
        let (delay, seed) = match self.options.memory_order {
            MemoryOrder::Sequential => (Delay::None, 0),
            MemoryOrder::Weak(seed) => {
                let seed = mix(seed ^ mix(number));
                (Delay::draw(seed), seed)
            }
        };
        let launch = Launch {
            kernel,
            simulation,
            arguments,
            memory: &memory,
            read_only: &ReadOnlyMemory::new(kernel, arguments),
            weak: &WeakMemory::new(&memory, delay, seed),
            number,
            seed,
            grid,
            dynamic_shared,
            progress: &progress,
        };
        Run::new(launch, self.options).run()
    }

    /// [`launch`](Self::launch)es the first instance of a kernel for its types, over `grid` blocks.
    ///
    /// # Errors
    ///
    /// As for [`launch`](Self::launch).
    ///
    /// # Panics
    ///
    /// If the kernel's table has no instance for its types.
    pub fn run<K: Kernel>(&self, kernel: K, grid: u32) -> Result<(), Fault> {
        let Some(info) = K::first() else { panic!("no instance for {:?}", K::TYPES) };
        let Some(simulation) = K::simulation(info) else { unreachable!("the instance is the kernel's own") };
        self.launch(info, simulation, grid, 0, &kernel.pack())
    }

    fn check_launch(
        &self,
        kernel: &KernelInfo,
        grid: u32,
        dynamic_shared: u32,
        arguments: &[Argument],
    ) -> Result<(), FaultKind> {
        let SimulatedOptions { max_block_size, max_shared_bytes, .. } = self.options;
        if grid == 0 || grid > MAX_GRID {
            return Err(FaultKind::GridSize { blocks: grid, limit: MAX_GRID });
        }
        if kernel.block_size == 0 || kernel.block_size > max_block_size {
            return Err(FaultKind::BlockSize { threads: kernel.block_size, limit: max_block_size });
        }
        if kernel.shared_bytes > MAX_STATIC_SHARED {
            let (what, bytes) = ("statically sized", kernel.shared_bytes);
            return Err(FaultKind::SharedMemory { what, bytes, limit: MAX_STATIC_SHARED });
        }
        let bytes = kernel.shared_bytes.saturating_add(dynamic_shared);
        if bytes > max_shared_bytes {
            return Err(FaultKind::SharedMemory { what: "in all", bytes, limit: max_shared_bytes });
        }
        let declared = kernel.scalars().len();
        if arguments.len() != declared {
            return Err(FaultKind::Arguments { given: arguments.len(), declared });
        }
        Ok(())
    }
}

/// One launch under way: the blocks still to start, and what its CPU threads tell each other.
struct Run<'a> {
    launch: Launch<'a>,
    options: SimulatedOptions,
    shuffle: Option<u64>,
    next: AtomicUsize,
    stop: AtomicBool,
    fault: Mutex<Option<Fault>>,
}

impl<'a> Run<'a> {
    fn new(launch: Launch<'a>, options: SimulatedOptions) -> Self {
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

    /// Works on threads of its own: a thread of a pool would, while it waits for the others, take up
    /// work of the caller's, which may want this device and wait for itself.
    fn run(self) -> Result<(), Fault> {
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

    /// The next block to start.
    fn next_block(&self) -> Option<u32> {
        let position = self.next.fetch_add(1, Relaxed);
        let position = u32::try_from(position).ok().filter(|&position| position < self.launch.grid)?;
        Some(self.shuffle.map_or(position, |seed| permute(position, self.launch.grid, seed)))
    }

    /// Makes atomic stores visible that are due, and some that are held if all blocks wait; whether there were such.
    fn show_stores(&self, all_wait: bool) -> Result<bool, Fault> {
        let weak = self.launch.weak;
        weak.advance()?;
        Ok(all_wait && weak.unblock()?)
    }

    /// One CPU thread's share: runs blocks, and keeps those that wait for others in flight.
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
                    moved |= progress != Progress::None;
                    only_polls &= matches!(progress, Progress::None | Progress::Polling);
                    progress != Progress::Done
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

/// How long blocks that only poll have found nothing new.
struct Patience {
    limit: Duration,
    since: Instant,
    seen: u64,
}

impl Patience {
    fn new(seconds: u64) -> Self {
        Self { limit: Duration::from_secs(seconds), since: Instant::now(), seen: 0 }
    }

    fn wait(&mut self, run: &Run<'_>, waiting: usize) -> Result<(), Fault> {
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

/// A permutation of `0..len`: a Feistel network over the next even power of two, walked until it
/// lands inside.
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
