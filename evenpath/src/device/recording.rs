//! What a thread asks of a device while it captures a graph: noted, and not done.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use super::allocation::Allocation;
use super::error::DeviceError;
use super::handle::Device;
use super::node::Node;

/// The operations so far, and the memory that they use.
#[derive(Default)]
pub(super) struct Recording {
    pub(super) nodes: Vec<Node>,
    pub(super) kept: Kept,
}

/// Memory that a graph keeps: its operations have the addresses, whatever happens to the vectors.
#[derive(Default)]
pub(super) struct Kept {
    /// Each once, and whether an operation writes to it.
    allocations: Vec<(Arc<Allocation>, bool)>,
}

impl Recording {
    /// An operation with an address that is not in memory that is kept, and the address, if there is one.
    pub(super) fn not_kept(&self) -> Option<(&'static str, u64)> {
        let mut kept: Vec<_> = self.kept.allocations.iter().map(|(own, _)| own.range()).collect();
        kept.sort_unstable_by_key(|range| range.start);
        let is_kept = |range: &Range<u64>| {
            let at = kept.partition_point(|own| own.start <= range.start);
            at.checked_sub(1).is_some_and(|at| range.end <= kept[at].end)
        };
        self.nodes.iter().find_map(|node| {
            let accesses = node.accesses().into_iter().map(|access| access.range);
            let lost = accesses.filter(|range| !range.is_empty()).find(|range| !is_kept(range))?;
            Some((node.name(), lost.start))
        })
    }
}

impl Kept {
    fn keep(&mut self, allocation: &Arc<Allocation>, is_written: bool) {
        let known = self.allocations.iter().position(|(own, _)| Arc::ptr_eq(own, allocation));
        let at = known.unwrap_or(self.allocations.len());
        if known.is_none() {
            self.allocations.push((Arc::clone(allocation), false));
        }
        let (_, has_writes) = &mut self.allocations[at];
        if is_written && !*has_writes {
            allocation.add_graph();
            *has_writes = true;
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.allocations.iter().filter(|(_, is_written)| *is_written).for_each(|(own, _)| own.remove_graph());
    }
}

/// The graph that a thread captures, of the device object of a number.
type Recordings = RefCell<Option<(u64, Recording)>>;

thread_local! {
    /// Gone where other thread-locals are destroyed after it: then the thread captures nothing.
    static RECORDING: Recordings = const { RefCell::new(None) };
}

/// Ends a recording when it is dropped, also by a panic.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        // Where there is no recording any more, there is nothing to end.
        let _ = RECORDING.try_with(RefCell::take);
    }
}

impl Device {
    /// What `body` asks of the device in this thread.
    pub(super) fn record_with<E: From<DeviceError>>(
        &self,
        body: impl FnOnce() -> Result<(), E>,
    ) -> Result<Recording, E> {
        let number = self.shared.number;
        let begun = RECORDING.try_with(|recording| {
            let mut recording = recording.borrow_mut();
            let is_free = recording.is_none();
            if is_free {
                *recording = Some((number, Recording::default()));
            }
            is_free
        });
        let reason = match begun {
            Ok(true) => None,
            Ok(false) => Some("another graph is being captured by this thread"),
            Err(_) => Some("the thread is ending"),
        };
        if let Some(reason) = reason {
            return Err(DeviceError::Capture { device: self.to_string(), reason }.into());
        }
        let _guard = Guard;
        body()?;
        let recording = RECORDING.try_with(RefCell::take).ok().flatten();
        Ok(recording.map(|(_, recording)| recording).unwrap_or_default())
    }

    /// Whether this thread captures a graph of the device.
    pub(crate) fn is_recording(&self) -> bool {
        let number = self.shared.number;
        let is_ours =
            |recording: &Recordings| matches!(&*recording.borrow(), Some((device, _)) if *device == number);
        RECORDING.try_with(is_ours).unwrap_or(false)
    }

    /// Sets the `bytes` bytes of memory from `offset` on to zero, or notes it.
    ///
    /// # Safety
    ///
    /// The memory has them, and is this device's.
    pub(super) unsafe fn zero_memory(
        &self,
        memory: &Arc<Allocation>,
        offset: u64,
        bytes: u64,
    ) -> Result<(), DeviceError> {
        self.keep(memory, true);
        if self.records(|| Node::Zero { address: memory.address() + offset, bytes }) {
            return Ok(());
        }
        // SAFETY: the caller's.
        unsafe { memory.zero(self.stream_number(), offset, bytes) }
    }

    /// Stores a word at `offset`, a multiple of four, or notes it.
    ///
    /// # Safety
    ///
    /// The memory has it, and is this device's.
    pub(super) unsafe fn store_word(
        &self,
        memory: &Arc<Allocation>,
        offset: u64,
        word: u32,
    ) -> Result<(), DeviceError> {
        self.keep(memory, true);
        if self.records(|| Node::Store { address: memory.address() + offset, word }) {
            return Ok(());
        }
        // SAFETY: the caller's.
        unsafe { memory.store(self.stream_number(), offset, word) }
    }

    /// Copies the `bytes` bytes of `source` from an offset on to those of `memory` from an offset on, or notes it.
    ///
    /// # Safety
    ///
    /// Both have them, are this device's, and the ranges do not overlap.
    pub(super) unsafe fn copy_memory(
        &self,
        (memory, offset): (&Arc<Allocation>, u64),
        (source, source_offset): (&Arc<Allocation>, u64),
        bytes: u64,
    ) -> Result<(), DeviceError> {
        let (from, to) = (source.address() + source_offset, memory.address() + offset);
        self.keep(source, false);
        self.keep(memory, true);
        if self.records(|| Node::Copy { from, to, bytes }) {
            return Ok(());
        }
        // SAFETY: the caller's.
        unsafe { memory.copy_from(self.stream_number(), offset, (source, source_offset), bytes) }
    }

    /// Notes an operation if this thread captures a graph of the device; whether it does.
    pub(super) fn records(&self, node: impl FnOnce() -> Node) -> bool {
        self.with_recording(|recording| recording.nodes.push(node())).is_some()
    }

    /// Has the graph that this thread captures do what another does; whether it captures one.
    pub(super) fn records_all(&self, nodes: &[Node], kept: &Kept) -> bool {
        let taken = self.with_recording(|recording| {
            recording.nodes.extend_from_slice(nodes);
            kept.allocations.iter().for_each(|(own, is_written)| recording.kept.keep(own, *is_written));
        });
        taken.is_some()
    }

    /// Has the graph that this thread captures keep memory of the device.
    pub(super) fn keep(&self, allocation: &Arc<Allocation>, is_written: bool) {
        self.with_recording(|recording| recording.kept.keep(allocation, is_written));
    }

    fn with_recording<R>(&self, body: impl FnOnce(&mut Recording) -> R) -> Option<R> {
        let number = self.shared.number;
        let with = |recording: &Recordings| match &mut *recording.borrow_mut() {
            Some((device, recording)) if *device == number => Some(body(recording)),
            _ => None,
        };
        RECORDING.try_with(with).ok().flatten()
    }

    /// An error if this thread captures a graph of the device: `reason` says what a graph has not.
    pub(crate) fn refuse_in_graph(&self, reason: &'static str) -> Result<(), DeviceError> {
        if self.is_recording() {
            return Err(DeviceError::Capture { device: self.to_string(), reason });
        }
        Ok(())
    }
}
