//! A block of a device's memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::DeviceError;
use super::machine::{Block, Machine};

/// A block of a machine's memory, of at least one byte; freed when dropped.
pub(super) struct Allocation {
    machine: Arc<dyn Machine>,
    block: Block,
    /// Graphs that write to it.
    graphs: AtomicU32,
}

impl Allocation {
    /// A block of at least `bytes` bytes, more than none.
    pub(super) fn new(machine: &Arc<dyn Machine>, bytes: u64) -> Result<Arc<Self>, DeviceError> {
        let block = machine.allocate(bytes)?;
        Ok(Arc::new(Self { machine: Arc::clone(machine), block, graphs: AtomicU32::new(0) }))
    }

    pub(super) fn address(&self) -> u64 {
        self.block.address
    }

    /// Sets the first `bytes` bytes to zero, in a stream of the machine, here and below.
    ///
    /// # Safety
    ///
    /// The block has them.
    pub(super) unsafe fn zero(&self, stream: u32, bytes: u64) -> Result<(), DeviceError> {
        // SAFETY: the caller's.
        unsafe { self.machine.zero(stream, self.address(), bytes) }
    }

    /// Copies the first `bytes` bytes of `source` to those from `offset` on.
    ///
    /// # Safety
    ///
    /// The blocks have them, are of one machine, and different.
    pub(super) unsafe fn copy_from(
        &self,
        stream: u32,
        offset: u64,
        source: &Self,
        bytes: u64,
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's.
        unsafe { self.machine.copy(stream, source.address(), self.address() + offset, bytes) }
    }

    /// Copies the bytes from `offset` on to the host.
    ///
    /// # Safety
    ///
    /// The block has as many.
    pub(super) unsafe fn read(&self, stream: u32, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        // SAFETY: the caller's.
        unsafe { self.machine.read(stream, self.address() + offset, bytes) }
    }

    /// Copies the first bytes from the host.
    ///
    /// # Safety
    ///
    /// The block has as many.
    pub(super) unsafe fn write(&self, stream: u32, bytes: &[u8]) -> Result<(), DeviceError> {
        // SAFETY: the caller's.
        unsafe { self.machine.write(stream, self.address(), bytes) }
    }

    /// Whether some graph writes to it.
    pub(super) fn is_in_graph(&self) -> bool {
        self.graphs.load(Relaxed) > 0
    }

    /// Notes a graph that writes to it.
    pub(super) fn add_graph(&self) {
        self.graphs.fetch_add(1, Relaxed);
    }

    /// Takes back [`add_graph`](Self::add_graph).
    pub(super) fn remove_graph(&self) {
        self.graphs.fetch_sub(1, Relaxed);
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: the block is of this machine, and nothing knows it any more.
        unsafe { self.machine.free(self.block) };
    }
}
