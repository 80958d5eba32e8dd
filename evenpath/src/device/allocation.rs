//! A block of a device's memory.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use parking_lot::Mutex;

use super::error::DeviceError;
use super::machine::{Machine, MemoryBlock, Transfer};
use super::memory_limit::Reservation;

/// A block of at least one byte of a machine's memory, freed on drop.
pub(super) struct Allocation {
    machine: Arc<dyn Machine>,
    block: MemoryBlock,
    /// Counts the bytes as in use while the block exists, also in graphs; `None` if they do not count.
    counted: Mutex<Option<Reservation>>,
    /// Number of graphs that write to it.
    graphs: AtomicU32,
    /// Returns foreign memory to its owner.
    release: Mutex<Option<Release>>,
}

/// Returns foreign memory to its owner.
pub(super) type Release = Box<dyn FnOnce() + Send>;

impl Allocation {
    /// Allocates at least `bytes` bytes, at least one, counted by `counted`.
    pub(super) fn new(
        machine: &Arc<dyn Machine>,
        bytes: u64,
        counted: Reservation,
    ) -> Result<Arc<Self>, DeviceError> {
        Ok(Self::of_block(machine, machine.allocate(bytes)?, Some(counted), None))
    }

    /// Wraps foreign memory. `release` is called once the machine has done all work that uses it.
    ///
    /// # Safety
    ///
    /// Until then, the memory is valid on this machine and nothing else accesses it.
    pub(super) unsafe fn foreign(
        machine: &Arc<dyn Machine>,
        block: MemoryBlock,
        release: Release,
    ) -> Arc<Self> {
        Self::of_block(machine, block, None, Some(release))
    }

    fn of_block(
        machine: &Arc<dyn Machine>,
        block: MemoryBlock,
        counted: Option<Reservation>,
        release: Option<Release>,
    ) -> Arc<Self> {
        let (machine, counted, release) = (Arc::clone(machine), Mutex::new(counted), Mutex::new(release));
        Arc::new(Self { machine, block, counted, graphs: AtomicU32::new(0), release })
    }

    pub(super) fn address(&self) -> u64 {
        self.block.address
    }

    /// Address range of the block.
    pub(super) fn range(&self) -> Range<u64> {
        self.block.address..self.block.address + self.block.bytes
    }

    /// Number of bytes that count as in use.
    pub(super) fn counted_bytes(&self) -> u64 {
        self.counted.lock().as_ref().map_or(0, Reservation::bytes)
    }

    /// Moves the count to another reservation, or to none.
    pub(super) fn count_by(&self, reservation: Option<Reservation>) {
        *self.counted.lock() = reservation;
    }

    /// Sets the `bytes` bytes at `offset` to zero, on a stream of the machine. `stream` means the same below.
    ///
    /// # Safety
    ///
    /// The range is inside the block.
    pub(super) unsafe fn zero(&self, stream: u32, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.machine.zero(stream, self.address() + offset, bytes) }
    }

    /// Stores a word at `offset`.
    ///
    /// # Safety
    ///
    /// The word is inside the block, and its address is a multiple of four.
    pub(super) unsafe fn store(&self, stream: u32, offset: u64, word: u32) -> Result<(), DeviceError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.machine.store(stream, self.address() + offset, word) }
    }

    /// Copies `bytes` bytes from an offset of `source` to `offset`.
    ///
    /// # Safety
    ///
    /// Both ranges are inside their blocks, do not overlap, and are of one machine.
    pub(super) unsafe fn copy_from(
        &self,
        stream: u32,
        offset: u64,
        (source, source_offset): (&Self, u64),
        bytes: u64,
    ) -> Result<(), DeviceError> {
        let (from, to) = (source.address() + source_offset, self.address() + offset);
        // SAFETY: guaranteed by the caller.
        unsafe { self.machine.copy(stream, from, to, bytes) }
    }

    /// Copies the bytes at `offset` to the host.
    ///
    /// # Safety
    ///
    /// The range is inside the block.
    pub(super) unsafe fn read(&self, stream: u32, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.machine.read(stream, self.address() + offset, bytes) }
    }

    /// Copies the bytes at `offset` from the host.
    ///
    /// # Safety
    ///
    /// The range is inside the block.
    pub(super) unsafe fn write(&self, stream: u32, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.machine.write(stream, self.address() + offset, bytes) }
    }

    /// Starts copying to the bytes at `offset`.
    ///
    /// # Safety
    ///
    /// The range is inside the block, and the conditions of [`Machine::begin_write`] hold.
    pub(super) unsafe fn begin_write(
        &self,
        stream: u32,
        offset: u64,
        from: *const u8,
        bytes: usize,
    ) -> Result<Option<Box<dyn Transfer>>, DeviceError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.machine.begin_write(stream, self.address() + offset, from, bytes) }
    }

    /// Starts copying from the bytes at `offset`.
    ///
    /// # Safety
    ///
    /// The range is inside the block, and the conditions of [`Machine::begin_read`] hold.
    pub(super) unsafe fn begin_read(
        &self,
        stream: u32,
        offset: u64,
        to: *mut u8,
        bytes: usize,
    ) -> Result<Option<Box<dyn Transfer>>, DeviceError> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.machine.begin_read(stream, self.address() + offset, to, bytes) }
    }

    /// Returns whether a graph writes to it.
    pub(super) fn is_in_graph(&self) -> bool {
        self.graphs.load(Relaxed) > 0
    }

    /// Adds a graph that writes to it.
    pub(super) fn add_graph(&self) {
        self.graphs.fetch_add(1, Relaxed);
    }

    /// Reverts [`add_graph`](Self::add_graph).
    pub(super) fn remove_graph(&self) {
        self.graphs.fetch_sub(1, Relaxed);
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if let Some(release) = self.release.get_mut().take() {
            // A machine that fails here is lost and no longer uses memory.
            let _ = self.machine.synchronize(None);
            return release();
        }
        // SAFETY: the block is of this machine, and nothing refers to it.
        unsafe { self.machine.free(self.block) };
    }
}
