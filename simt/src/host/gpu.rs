//! The device: its memory, limits and streams.

use parking_lot::{Mutex, RwLock};

use super::fault::{Fault, FaultKind};
use super::memory::{Memory, OutOfMemory};
use super::options::SimulatedOptions;
use super::streams::Streams;
use crate::kernel::{Argument, KernelInfo};

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
