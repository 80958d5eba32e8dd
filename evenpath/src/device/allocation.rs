//! A block of a device's memory.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use parking_lot::Mutex;

use super::error::DeviceError;
use super::machine::{Block, Machine, Transfer};
use super::memory_limit::Reservation;

/// A block of a machine's memory, of at least one byte; freed when dropped.
pub(super) struct Allocation {
    machine: Arc<dyn Machine>,
    block: Block,
    /// Counts the bytes as in use for as long as anything keeps the block, graphs included; `None` where they do not count.
    counted: Mutex<Option<Reservation>>,
    /// Graphs that write to it.
    graphs: AtomicU32,
    /// What gives it back, where it is somebody else's.
    release: Mutex<Option<Release>>,
}

/// Gives back memory of somebody else.
pub(super) type Release = Box<dyn FnOnce() + Send>;

impl Allocation {
    /// A block of at least `bytes` bytes, more than none, which `counted` counts.
    pub(super) fn new(
        machine: &Arc<dyn Machine>,
        bytes: u64,
        counted: Reservation,
    ) -> Result<Arc<Self>, DeviceError> {
        Ok(Self::of_block(machine, machine.allocate(bytes)?, Some(counted), None))
    }

    /// Memory of somebody else. It is given back by `release` when the machine has done all work that uses it.
    ///
    /// # Safety
    ///
    /// The memory is valid on this machine until then, and nothing else accesses it.
    pub(super) unsafe fn foreign(machine: &Arc<dyn Machine>, block: Block, release: Release) -> Arc<Self> {
        Self::of_block(machine, block, None, Some(release))
    }

    fn of_block(
        machine: &Arc<dyn Machine>,
        block: Block,
        counted: Option<Reservation>,
        release: Option<Release>,
    ) -> Arc<Self> {
        let (machine, counted, release) = (Arc::clone(machine), Mutex::new(counted), Mutex::new(release));
        Arc::new(Self { machine, block, counted, graphs: AtomicU32::new(0), release })
    }

    pub(super) fn address(&self) -> u64 {
        self.block.address
    }

    /// The addresses of the block.
    pub(super) fn range(&self) -> Range<u64> {
        self.block.address..self.block.address + self.block.bytes
    }

    /// Bytes that count as in use.
    pub(super) fn counted_bytes(&self) -> u64 {
        self.counted.lock().as_ref().map_or(0, Reservation::bytes)
    }

    /// Counts the block from now on by another reservation, or by none.
    pub(super) fn count_by(&self, reservation: Option<Reservation>) {
        *self.counted.lock() = reservation;
    }

    /// Sets the `bytes` bytes from `offset` on to zero, in a stream of the machine, here and below.
    ///
    /// # Safety
    ///
    /// The block has them.
    pub(super) unsafe fn zero(&self, stream: u32, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        // SAFETY: the caller's.
        unsafe { self.machine.zero(stream, self.address() + offset, bytes) }
    }

    /// Stores a word at `offset`.
    ///
    /// # Safety
    ///
    /// The block has it, and its address is a multiple of four.
    pub(super) unsafe fn store(&self, stream: u32, offset: u64, word: u32) -> Result<(), DeviceError> {
        // SAFETY: the caller's.
        unsafe { self.machine.store(stream, self.address() + offset, word) }
    }

    /// Copies `bytes` bytes of `source`, from an offset on, to those from `offset` on.
    ///
    /// # Safety
    ///
    /// The blocks have them, are of one machine, and the ranges do not overlap.
    pub(super) unsafe fn copy_from(
        &self,
        stream: u32,
        offset: u64,
        (source, source_offset): (&Self, u64),
        bytes: u64,
    ) -> Result<(), DeviceError> {
        let (from, to) = (source.address() + source_offset, self.address() + offset);
        // SAFETY: the caller's.
        unsafe { self.machine.copy(stream, from, to, bytes) }
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

    /// Copies the bytes from `offset` on from the host.
    ///
    /// # Safety
    ///
    /// The block has as many.
    pub(super) unsafe fn write(&self, stream: u32, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        // SAFETY: the caller's.
        unsafe { self.machine.write(stream, self.address() + offset, bytes) }
    }

    /// Begins to copy to the bytes from `offset` on.
    ///
    /// # Safety
    ///
    /// The block has as many, and otherwise as for [`Machine::begin_write`].
    pub(super) unsafe fn begin_write(
        &self,
        stream: u32,
        offset: u64,
        from: *const u8,
        bytes: usize,
    ) -> Result<Option<Box<dyn Transfer>>, DeviceError> {
        // SAFETY: the caller's.
        unsafe { self.machine.begin_write(stream, self.address() + offset, from, bytes) }
    }

    /// Begins to copy the bytes from `offset` on.
    ///
    /// # Safety
    ///
    /// The block has as many, and otherwise as for [`Machine::begin_read`].
    pub(super) unsafe fn begin_read(
        &self,
        stream: u32,
        offset: u64,
        to: *mut u8,
        bytes: usize,
    ) -> Result<Option<Box<dyn Transfer>>, DeviceError> {
        // SAFETY: the caller's.
        unsafe { self.machine.begin_read(stream, self.address() + offset, to, bytes) }
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
        if let Some(release) = self.release.get_mut().take() {
            // A machine that fails here is lost, and uses no memory any more.
            let _ = self.machine.synchronize(None);
            return release();
        }
        // SAFETY: the block is of this machine, and nothing knows it any more.
        unsafe { self.machine.free(self.block) };
    }
}
