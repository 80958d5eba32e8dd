//! Operations of a stream: copies and launches.

use std::ops::Range;
use std::sync::atomic::AtomicU64;

use super::block::Launch;
use super::fault::{AccessKind, Fault, Place};
use super::gpu::SimulatedGpu;
use super::launch::RunningLaunch;
use super::mix::mix;
use super::options::MemoryOrder;
use super::read_only::ReadOnlyMemory;
use super::streams::StreamOperation;
use super::weak::{Delay, WeakMemory};
use crate::kernel::{Argument, Kernel, KernelInfo, Simulation};

/// A stream of a simulated GPU. Operations run one after the other in the order of the calls, on any stream;
/// those of different streams that access the same memory, at least one of them writing, are reported unless
/// one stream [waited](Self::wait_for) for the other.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedStream<'g> {
    pub(super) gpu: &'g SimulatedGpu,
    pub(super) number: u32,
}

impl SimulatedGpu {
    /// Returns a stream of the device, by its number. Work on the device while only stream 0 was used happens
    /// before the work of others; apart from that, a stream comes after the streams that it
    /// [waits](SimulatedStream::wait_for) for.
    pub fn stream(&self, number: u32) -> SimulatedStream<'_> {
        self.streams.lock().add(number);
        SimulatedStream { gpu: self, number }
    }

    /// [`write`](SimulatedStream::write)s in stream 0.
    ///
    /// # Errors
    ///
    /// The same as for the stream's.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.stream(0).write(address, bytes)
    }

    /// [`read`](SimulatedStream::read)s in stream 0.
    ///
    /// # Errors
    ///
    /// The same as for the stream's.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        self.stream(0).read(address, bytes)
    }

    /// [`fill`](SimulatedStream::fill)s in stream 0.
    ///
    /// # Errors
    ///
    /// The same as for the stream's.
    pub fn fill(&self, address: u64, bytes: u64, value: u8) -> Result<(), Fault> {
        self.stream(0).fill(address, bytes, value)
    }

    /// [`copy`](SimulatedStream::copy)s in stream 0.
    ///
    /// # Errors
    ///
    /// The same as for the stream's.
    pub fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), Fault> {
        self.stream(0).copy(from, to, bytes)
    }

    /// [`launch`](SimulatedStream::launch)es in stream 0.
    ///
    /// # Errors
    ///
    /// The same as for the stream's.
    pub fn launch(
        &self,
        kernel: &KernelInfo,
        simulation: Simulation,
        grid: u32,
        dynamic_shared: u32,
        arguments: &[Argument],
    ) -> Result<(), Fault> {
        self.stream(0).launch(kernel, simulation, grid, dynamic_shared, arguments)
    }

    /// [`launch`](Self::launch)es the first instance of a kernel for its types, over `grid` blocks.
    ///
    /// # Errors
    ///
    /// The same as for [`launch`](Self::launch).
    ///
    /// # Panics
    ///
    /// If the kernel's table has no instance for its types.
    pub fn run<K: Kernel>(&self, kernel: K, grid: u32) -> Result<(), Fault> {
        let Some(info) = K::first() else { panic!("no instance for {:?}", K::TYPES) };
        let Some(simulation) = K::simulation(info) else { unreachable!("the instance is the kernel's own") };
        self.launch(info, simulation, grid, 0, &kernel.pack())
    }
}

impl SimulatedStream<'_> {
    /// Number of operations started in the stream.
    pub fn operations(&self) -> u64 {
        self.gpu.streams.lock().count(self.number)
    }

    /// Makes later work of the stream come after the first `operations` operations of another.
    pub fn wait_for(&self, other: u32, operations: u64) {
        self.gpu.streams.lock().wait(self.number, other, operations);
    }

    /// Copies bytes from the host.
    ///
    /// # Errors
    ///
    /// If the range is not inside one live allocation; then nothing is written.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let operation = self.begin();
        Ok(self.gpu.memory.write().write(address, bytes, &operation)?)
    }

    /// Copies bytes to the host.
    ///
    /// # Errors
    ///
    /// If the range is not inside one live allocation, or a byte of it was never written.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        let operation = self.begin();
        Ok(self.gpu.memory.write().read(address, bytes, &operation)?)
    }

    /// Sets every byte of a range.
    ///
    /// # Errors
    ///
    /// If the range is not inside one live allocation; then nothing is written.
    pub fn fill(&self, address: u64, bytes: u64, value: u8) -> Result<(), Fault> {
        let operation = self.begin();
        let memory = self.gpu.memory.write();
        memory.check_range(address, bytes)?;
        let chunk = [value; 4096];
        let mut done = 0;
        while done < bytes {
            let take = (bytes - done).min(chunk.len() as u64);
            memory.write(address + done, &chunk[..take as usize], &operation)?;
            done += take;
        }
        Ok(())
    }

    /// Copies bytes within the device; the ranges must not overlap.
    ///
    /// # Errors
    ///
    /// If a range is not inside one live allocation; then nothing is written.
    pub fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), Fault> {
        let operation = self.begin();
        Ok(self.gpu.memory.write().copy(from, to, bytes, &operation)?)
    }

    /// Records an operation of other code that reads and writes ranges of addresses; the written values are
    /// unknown.
    ///
    /// # Errors
    ///
    /// If a range is not inside one live allocation.
    pub fn touch(&self, reads: &[Range<u64>], writes: &[Range<u64>]) -> Result<(), Fault> {
        let operation = self.begin();
        let memory = self.gpu.memory.write();
        for (ranges, kind) in [(reads, AccessKind::Read), (writes, AccessKind::Write)] {
            for range in ranges.iter().filter(|range| !range.is_empty()) {
                memory.touch(range.start, range.end - range.start, kind, &operation)?;
            }
        }
        Ok(())
    }

    /// Runs a kernel with body `simulation` over `grid` blocks of its declared size, with `dynamic_shared`
    /// bytes of shared memory beside the statically sized ones, and waits for it.
    ///
    /// # Errors
    ///
    /// If the launch exceeds a limit, or the kernel made a mistake.
    pub fn launch(
        &self,
        kernel: &KernelInfo,
        simulation: Simulation,
        grid: u32,
        dynamic_shared: u32,
        arguments: &[Argument],
    ) -> Result<(), Fault> {
        let SimulatedGpu { options, memory, .. } = self.gpu;
        self.gpu.check_launch(kernel, grid, dynamic_shared, arguments).map_err(|kind| {
            let place = Place { kernel: kernel.name, block: None, thread: None, line: None };
            Fault { place: Some(place), kind }
        })?;
        let operation = self.begin();
        let memory = memory.read();
        let progress = AtomicU64::new(0);
        let (delay, seed) = match options.memory_order {
            MemoryOrder::Sequential => (Delay::None, 0),
            MemoryOrder::Weak(seed) => {
                let seed = mix(seed ^ mix(operation.number));
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
            operation: &operation,
            seed,
            grid,
            dynamic_shared,
            progress: &progress,
        };
        RunningLaunch::new(launch, *options).run()
    }

    /// Starts the stream's next operation.
    fn begin(&self) -> StreamOperation {
        loop {
            let mut streams = self.gpu.streams.lock();
            if let Some(operation) = streams.begin(self.number) {
                return operation;
            }
            // The streams restart their numbers; they are locked, so no operation starts meanwhile.
            self.gpu.memory.write().forget_operations();
        }
    }
}
