//! Global memory of the simulated GPU.
//!
//! An address is `slot + 1` (20 bits), the slot's generation (8 bits), an offset (36 bits): a freed slot is
//! reused with another generation, so a stale address is detected. Slots are reused in the order in which
//! they were freed, and only when many are free, so generations repeat late.
//!
//! Memory consists of atomic cells, because blocks run on several CPU threads, and a kernel with a race must
//! be wrong, not undefined. Every byte has a bit that records if it was written.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicU8, Ordering::Relaxed};

use super::allocation::Allocation;
use super::conflicts::{How, Observer};
use super::fault::{AccessKind, FaultKind};
use super::streams::StreamOperation;

const OFFSET_BITS: u32 = 36;
const GENERATION_BITS: u32 = 8;
const SLOT_BITS: u32 = 64 - OFFSET_BITS - GENERATION_BITS;
/// Maximum size of an allocation.
const MAX_BYTES: u64 = 1 << OFFSET_BITS;
/// Number of free slots before one of them is reused.
const RESTING_SLOTS: usize = 1024;

/// An allocation failed.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("out of memory: {asked} bytes requested, {free} of {total} free")]
pub struct OutOfMemory {
    /// Requested bytes.
    pub asked: u64,
    /// Free bytes.
    pub free: u64,
    /// Total bytes of the device.
    pub total: u64,
}

crate::debug_as_message!(OutOfMemory);

/// All allocations of one device.
#[derive(Debug)]
pub(crate) struct Memory {
    slots: Vec<AllocationSlot>,
    free: VecDeque<usize>,
    used: u64,
    total: u64,
}

#[derive(Debug, Default)]
struct AllocationSlot {
    generation: u8,
    allocation: Option<Allocation>,
}

impl Memory {
    pub(crate) fn new(total: u64) -> Self {
        Self { slots: Vec::new(), free: VecDeque::new(), used: 0, total }
    }

    pub(crate) fn free_and_total(&self) -> (u64, u64) {
        (self.total - self.used, self.total)
    }

    pub(crate) fn allocate(&mut self, bytes: u64) -> Result<u64, OutOfMemory> {
        let out_of_memory = OutOfMemory { asked: bytes, free: self.total - self.used, total: self.total };
        if bytes > out_of_memory.free || bytes >= MAX_BYTES {
            return Err(out_of_memory);
        }
        let allocation = Allocation::new(bytes).ok_or(out_of_memory)?;
        let slot = match self.free.front() {
            Some(&slot) if self.free.len() > RESTING_SLOTS || self.slots.len() >= (1 << SLOT_BITS) - 1 => {
                self.free.pop_front();
                slot
            }
            _ if self.slots.len() >= (1 << SLOT_BITS) - 1 => return Err(out_of_memory),
            _ => {
                self.slots.push(AllocationSlot::default());
                self.slots.len() - 1
            }
        };
        self.slots[slot].allocation = Some(allocation);
        self.used += bytes;
        let generation = u64::from(self.slots[slot].generation);
        Ok((slot as u64 + 1) << (OFFSET_BITS + GENERATION_BITS) | generation << OFFSET_BITS)
    }

    pub(crate) fn release(&mut self, address: u64) -> Result<(), FaultKind> {
        let (slot, offset) = self.slot(address, 0)?;
        if offset != 0 {
            return Err(FaultKind::NotAllocated { address, bytes: 0 });
        }
        let Some(allocation) = self.slots[slot].allocation.take() else {
            return Err(FaultKind::UseAfterFree { address, bytes: 0 });
        };
        self.used -= allocation.bytes;
        self.slots[slot].generation = self.slots[slot].generation.wrapping_add(1);
        self.free.push_back(slot);
        Ok(())
    }

    /// Returns the slot of an address, and the offset in it.
    #[inline]
    fn slot(&self, address: u64, bytes: u64) -> Result<(usize, u64), FaultKind> {
        let slot = (address >> (OFFSET_BITS + GENERATION_BITS)) as usize;
        if slot == 0 || slot > self.slots.len() {
            return Err(FaultKind::NotAllocated { address, bytes });
        }
        let generation = (address >> OFFSET_BITS) as u8;
        if self.slots[slot - 1].generation != generation {
            return Err(FaultKind::UseAfterFree { address, bytes });
        }
        Ok((slot - 1, address & (MAX_BYTES - 1)))
    }

    /// Returns the allocation that holds `bytes` bytes at `address`, and the offset of the first.
    #[inline]
    fn locate(&self, address: u64, bytes: u64) -> Result<(&Allocation, usize), FaultKind> {
        let (slot, offset) = self.slot(address, bytes)?;
        let Some(allocation) = &self.slots[slot].allocation else {
            return Err(FaultKind::UseAfterFree { address, bytes });
        };
        if offset.checked_add(bytes).is_none_or(|end| end > allocation.bytes) {
            return Err(FaultKind::OutsideAllocation { address, bytes, allocated: allocation.bytes });
        }
        Ok((allocation, offset as usize))
    }

    /// Returns the cell of an aligned element, with the bits that record if it was written.
    #[inline]
    fn cell(&self, address: u64, size: usize) -> Result<Cell<'_>, FaultKind> {
        let (allocation, offset) = self.locate(address, size as u64)?;
        if !offset.is_multiple_of(size) {
            return Err(FaultKind::Misaligned { address, bytes: size as u64 });
        }
        Ok(Cell {
            word: &allocation.words[offset / 8],
            writers: &allocation.writers[offset / 4..(offset + size).div_ceil(4)],
            written: &allocation.written[offset / 8],
            byte: offset % 8,
            mask: (u8::MAX >> (8 - size)) << (offset % 8),
            size,
        })
    }

    /// Loads an element of `size` bytes; fails if any of them was never written.
    #[inline]
    pub(crate) fn load(&self, address: u64, size: usize) -> Result<u64, FaultKind> {
        let cell = self.cell(address, size)?;
        cell.check_written(address)?;
        Ok(cell.load())
    }

    /// Stores an element of `size` bytes.
    #[inline]
    pub(crate) fn store(&self, address: u64, size: usize, bits: u64) -> Result<(), FaultKind> {
        let cell = self.cell(address, size)?;
        cell.store(bits);
        cell.mark_written();
        Ok(())
    }

    /// Loads an element for a block; also fails if another block wrote it unordered.
    #[inline]
    pub(crate) fn block_load(&self, address: u64, size: usize, by: &Observer) -> Result<u64, FaultKind> {
        let cell = self.cell(address, size)?;
        cell.check_written(address)?;
        let bits = cell.load();
        self.check_streams(address, size, &by.operation, How::Plain, AccessKind::Read)?;
        cell.check_order(address, by, How::Plain, AccessKind::Read)?;
        Ok(bits)
    }

    /// Loads an element for an operation; also fails if one of another stream wrote it unordered.
    #[inline]
    pub(crate) fn operation_load(
        &self,
        address: u64,
        size: usize,
        operation: &StreamOperation,
    ) -> Result<u64, FaultKind> {
        let bits = self.load(address, size)?;
        self.check_streams(address, size, operation, How::Plain, AccessKind::Read)?;
        Ok(bits)
    }

    /// Checks that this access is ordered after operations of other streams.
    #[inline]
    fn check_streams(
        &self,
        address: u64,
        size: usize,
        operation: &StreamOperation,
        how: How,
        this: AccessKind,
    ) -> Result<(), FaultKind> {
        if operation.unordered.is_none() {
            return Ok(());
        }
        let (allocation, offset) = self.locate(address, size as u64)?;
        let result = allocation.check_streams(offset, size, operation, how, this);
        result.map_err(|(other, that)| FaultKind::StreamRace {
            address,
            stream: operation.stream,
            this,
            other,
            that,
        })
    }

    /// Stores an element for a block; fails if another block wrote another value unordered.
    #[inline]
    pub(crate) fn block_store(
        &self,
        address: u64,
        size: usize,
        bits: u64,
        by: &Observer,
    ) -> Result<(), FaultKind> {
        let cell = self.cell(address, size)?;
        self.check_streams(address, size, &by.operation, How::Plain, AccessKind::Write)?;
        let order = cell.check_order(address, by, How::Plain, AccessKind::Write);
        if order.is_err() && cell.load() != bits {
            return order;
        }
        cell.note_write(by, How::Plain);
        cell.store(bits);
        cell.mark_written();
        Ok(())
    }

    /// Checks that an atomic operation of a block is ordered after plain writes of other blocks, and records
    /// it unless it only reads.
    #[inline]
    pub(crate) fn note_atomic(
        &self,
        address: u64,
        size: usize,
        by: &Observer,
        kind: AccessKind,
    ) -> Result<(), FaultKind> {
        let cell = self.cell(address, size)?;
        self.check_streams(address, size, &by.operation, How::Atomic, kind)?;
        cell.check_order(address, by, How::Atomic, kind)?;
        if kind != AccessKind::Read {
            cell.note_write(by, How::Atomic);
        }
        Ok(())
    }

    /// Clears the records of operations that wrote and read.
    pub(crate) fn forget_operations(&mut self) {
        for allocation in self.slots.iter_mut().filter_map(|slot| slot.allocation.as_mut()) {
            allocation.writers.iter_mut().for_each(|note| *note.get_mut() = 0);
            allocation.readers.take();
        }
    }

    /// Replaces an element by `update` of it, atomically; returns the old value.
    pub(crate) fn update(
        &self,
        address: u64,
        size: usize,
        update: impl Fn(u64) -> u64,
    ) -> Result<u64, FaultKind> {
        let mut old = self.load(address, size)?;
        let cell = self.cell(address, size)?;
        loop {
            match cell.compare_exchange(old, update(old)) {
                Ok(old) => return Ok(old),
                Err(now) => old = now,
            }
        }
    }

    /// Checks that a range is inside one allocation.
    pub(crate) fn check_range(&self, address: u64, bytes: u64) -> Result<(), FaultKind> {
        self.locate(address, bytes).map(|_| ())
    }

    /// Checks and records that something other than a kernel or a copy reads or writes a range. The written
    /// values are unknown.
    pub(crate) fn touch(
        &self,
        address: u64,
        bytes: u64,
        kind: AccessKind,
        operation: &StreamOperation,
    ) -> Result<(), FaultKind> {
        let (allocation, offset) = self.locate(address, bytes)?;
        self.check_streams(address, bytes as usize, operation, How::Plain, kind)?;
        if kind == AccessKind::Write {
            allocation.note_host_write(offset, bytes as usize, operation);
        }
        Ok(())
    }

    /// Copies from the host.
    pub(crate) fn write(
        &self,
        address: u64,
        bytes: &[u8],
        operation: &StreamOperation,
    ) -> Result<(), FaultKind> {
        let (allocation, offset) = self.locate(address, bytes.len() as u64)?;
        self.check_streams(address, bytes.len(), operation, How::Plain, AccessKind::Write)?;
        allocation.write(offset, bytes);
        allocation.note_host_write(offset, bytes.len(), operation);
        Ok(())
    }

    /// Copies to the host; fails if any byte was never written, and then nothing is copied.
    pub(crate) fn read(
        &self,
        address: u64,
        bytes: &mut [u8],
        operation: &StreamOperation,
    ) -> Result<(), FaultKind> {
        let (allocation, offset) = self.locate(address, bytes.len() as u64)?;
        self.check_streams(address, bytes.len(), operation, How::Plain, AccessKind::Read)?;
        if let Some(first) = allocation.first_unwritten(offset, bytes.len()) {
            return Err(FaultKind::UninitializedGlobal { address: address + first as u64, bytes: 1 });
        }
        allocation.read(offset, bytes);
        Ok(())
    }

    /// Copies within the device, including the state of bytes that were never written. The ranges must not
    /// overlap.
    pub(crate) fn copy(
        &self,
        from: u64,
        to: u64,
        bytes: u64,
        operation: &StreamOperation,
    ) -> Result<(), FaultKind> {
        let (source, source_offset) = self.locate(from, bytes)?;
        let (target, target_offset) = self.locate(to, bytes)?;
        self.check_streams(from, bytes as usize, operation, How::Plain, AccessKind::Read)?;
        self.check_streams(to, bytes as usize, operation, How::Plain, AccessKind::Write)?;
        target.copy_from(target_offset, source, source_offset, bytes as usize);
        target.note_host_write(target_offset, bytes as usize, operation);
        Ok(())
    }
}

/// An element of memory.
struct Cell<'a> {
    word: &'a AtomicU64,
    writers: &'a [AtomicU64],
    written: &'a AtomicU8,
    byte: usize,
    mask: u8,
    size: usize,
}

/// Calls `$operation` on the element's part of the word, as an atomic of its size.
macro_rules! by_size {
    ($cell:ident, |$atomic:ident: $type:ident| $operation:expr) => {
        by_size!($cell, $atomic, $operation, [1: AtomicU8 = u8, 2: AtomicU16 = u16, 4: AtomicU32 = u32], $type)
    };
    ($cell:ident, $atomic:ident, $operation:expr, [$($size:literal: $kind:ident = $int:ident),*], $type:ident) => {
        match $cell.size {
            $($size => {
                type $type = $int;
                // Safety: the element is inside the word, aligned to its size, and other lanes access it
                // through atomics too; the host waits for them.
                let $atomic = unsafe { &*std::ptr::from_ref($cell.word).cast::<u8>().add($cell.byte).cast::<$kind>() };
                $operation
            })*
            _ => {
                type $type = u64;
                let $atomic = $cell.word;
                $operation
            }
        }
    };
}

#[allow(clippy::cast_lossless, clippy::cast_ptr_alignment, clippy::unnecessary_cast)]
impl Cell<'_> {
    #[inline]
    fn load(&self) -> u64 {
        by_size!(self, |atomic: Bits| {
            let bits: Bits = atomic.load(std::sync::atomic::Ordering::SeqCst);
            bits as u64
        })
    }

    #[inline]
    fn store(&self, bits: u64) {
        // Release keeps earlier stores visible to a block that polls this element.
        by_size!(self, |atomic: Bits| atomic.store(bits as Bits, std::sync::atomic::Ordering::Release));
    }

    fn compare_exchange(&self, old: u64, new: u64) -> Result<u64, u64> {
        use std::sync::atomic::Ordering::SeqCst;
        by_size!(self, |atomic: Bits| {
            let result: Result<Bits, Bits> =
                atomic.compare_exchange(old as Bits, new as Bits, SeqCst, SeqCst);
            result.map(|bits| bits as u64).map_err(|bits| bits as u64)
        })
    }

    /// Returns the bytes of each word of 4 bytes that the element covers, one bit each.
    fn bytes_of_word(&self) -> u8 {
        (0xf >> (4 - self.size.min(4))) << (self.byte % 4)
    }

    /// Fails if some of it was never written.
    #[inline]
    fn check_written(&self, address: u64) -> Result<(), FaultKind> {
        if self.written.load(Relaxed) & self.mask != self.mask {
            return Err(FaultKind::UninitializedGlobal { address, bytes: self.size as u64 });
        }
        Ok(())
    }

    /// Fails if another block wrote some of it unordered before this access.
    #[inline]
    fn check_order(&self, address: u64, by: &Observer, how: How, this: AccessKind) -> Result<(), FaultKind> {
        let racing = self.writers.iter().find_map(|note| by.racing(note, how, self.bytes_of_word()));
        racing.map_or(Ok(()), |other| Err(FaultKind::GlobalRace { address, block: by.block, this, other }))
    }

    #[inline]
    fn note_write(&self, by: &Observer, how: How) {
        self.writers.iter().for_each(|note| by.note_write(note, how, self.bytes_of_word()));
    }

    #[inline]
    fn mark_written(&self) {
        if self.written.load(Relaxed) & self.mask != self.mask {
            self.written.fetch_or(self.mask, Relaxed);
        }
    }
}
