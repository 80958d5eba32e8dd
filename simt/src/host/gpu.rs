//! The device: its memory, limits and streams.

use parking_lot::{Mutex, RwLock};

use super::fault::{Fault, FaultKind};
use super::memory::{Memory, OutOfMemory};
use super::options::SimulatedOptions;
use super::stream::SimulatedStream;
use super::streams::Streams;
use crate::kernel::{Argument, Kernel, KernelInfo, Simulation};

/// Maximum number of threads per block of any simulated GPU: shared memory notes threads in 16 bits.
const MAX_BLOCK_SIZE: u32 = u16::MAX as u32;
/// Maximum statically sized shared memory, and grid, of any GPU.
const MAX_STATIC_SHARED: u32 = 48 * 1024;
const MAX_GRID: u32 = i32::MAX as u32;

/// A GPU that the CPU simulates.
#[derive(Debug)]
pub struct SimulatedGpu {
    pub(super) options: SimulatedOptions,
    /// Launches hold it for reading. Host operations that copy or change memory hold it for writing: they
    /// wait for launches.
    pub(super) memory: RwLock<Memory>,
    pub(super) streams: Mutex<Streams>,
}

impl SimulatedGpu {
    /// Creates a device with nothing allocated.
    pub fn new(options: SimulatedOptions) -> Self {
        Self {
            options,
            memory: RwLock::new(Memory::new(options.memory_bytes)),
            streams: Mutex::new(Streams::new()),
        }
    }

    /// Number of CPU threads that run the blocks of a large grid.
    pub fn cpu_threads(&self) -> usize {
        self.options.cpu_threads()
    }

    /// Options of the device.
    pub fn options(&self) -> SimulatedOptions {
        self.options
    }

    /// Returns free and total bytes of global memory.
    pub fn memory(&self) -> (u64, u64) {
        self.memory.read().free_and_total()
    }

    /// Allocates global memory, which counts as never written; returns its address.
    ///
    /// # Errors
    ///
    /// If the device does not have that much free memory.
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

    pub(super) fn check_launch(
        &self,
        kernel: &KernelInfo,
        grid: u32,
        dynamic_shared: u32,
        arguments: &[Argument],
    ) -> Result<(), FaultKind> {
        let SimulatedOptions { max_shared_bytes, .. } = self.options;
        let max_block_size = self.options.max_block_size.min(MAX_BLOCK_SIZE);
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
