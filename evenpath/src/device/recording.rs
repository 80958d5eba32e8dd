//! Capture of graphs: operations that a thread calls are recorded instead of run.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

use super::allocation::Allocation;
use super::error::DeviceError;
use super::handle::Device;
use super::node::GraphNode;

/// The operations so far, and the memory that they use.
#[derive(Default)]
pub(super) struct Recording {
    pub(super) nodes: Vec<GraphNode>,
    pub(super) kept: Kept,
}

/// Memory that a graph keeps alive: its operations contain the addresses, even after the vectors are dropped.
#[derive(Default)]
pub(super) struct Kept {
    /// Allocations, each once, and true if an operation writes to it.
    allocations: Vec<(Arc<Allocation>, bool)>,
}

impl Recording {
    /// The first operation with an address outside the kept memory, and that address; `None` if there is
    /// none.
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

/// The graph that a thread captures, with the number of its device object.
type Recordings = RefCell<Option<(u64, Recording)>>;

thread_local! {
    /// Already destroyed if another thread-local's destructor runs later: then the thread captures nothing.
    static RECORDING: Recordings = const { RefCell::new(None) };
}

/// Ends a recording on drop, also during a panic.
struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        // If the thread-local is destroyed, no recording is active.
        let _ = RECORDING.try_with(RefCell::take);
    }
}

impl Device {
    /// Records the operations that `body` calls on the device in this thread.
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
            Ok(false) => Some("this thread is already capturing a graph"),
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

    /// Returns whether this thread captures a graph of the device.
    pub(crate) fn is_recording(&self) -> bool {
        let number = self.shared.number;
        let is_ours =
            |recording: &Recordings| matches!(&*recording.borrow(), Some((device, _)) if *device == number);
        RECORDING.try_with(is_ours).unwrap_or(false)
    }

    /// Sets the `bytes` bytes of memory at `offset` to zero, or records this.
    ///
    /// # Safety
    ///
    /// The range is inside the memory, which is this device's.
    pub(super) unsafe fn zero_memory(
        &self,
        memory: &Arc<Allocation>,
        offset: u64,
        bytes: u64,
    ) -> Result<(), DeviceError> {
        self.keep(memory, true);
        if self.records(|| GraphNode::Zero { address: memory.address() + offset, bytes }) {
            return Ok(());
        }
        // SAFETY: guaranteed by the caller.
        unsafe { memory.zero(self.stream_number(), offset, bytes) }
    }

    /// Stores a word at `offset`, a multiple of four, or records this.
    ///
    /// # Safety
    ///
    /// The word is inside the memory, which is this device's.
    pub(super) unsafe fn store_word(
        &self,
        memory: &Arc<Allocation>,
        offset: u64,
        word: u32,
    ) -> Result<(), DeviceError> {
        self.keep(memory, true);
        if self.records(|| GraphNode::Store { address: memory.address() + offset, word }) {
            return Ok(());
        }
        // SAFETY: guaranteed by the caller.
        unsafe { memory.store(self.stream_number(), offset, word) }
    }

    /// Copies `bytes` bytes from an offset of `source` to an offset of `memory`, or records this.
    ///
    /// # Safety
    ///
    /// Both ranges are inside their memory, which is this device's, and do not overlap.
    pub(super) unsafe fn copy_memory(
        &self,
        (memory, offset): (&Arc<Allocation>, u64),
        (source, source_offset): (&Arc<Allocation>, u64),
        bytes: u64,
    ) -> Result<(), DeviceError> {
        let (from, to) = (source.address() + source_offset, memory.address() + offset);
        self.keep(source, false);
        self.keep(memory, true);
        if self.records(|| GraphNode::Copy { from, to, bytes }) {
            return Ok(());
        }
        // SAFETY: guaranteed by the caller.
        unsafe { memory.copy_from(self.stream_number(), offset, (source, source_offset), bytes) }
    }

    /// Records an operation if this thread captures a graph of the device. Returns whether it does.
    pub(super) fn records(&self, node: impl FnOnce() -> GraphNode) -> bool {
        self.with_recording(|recording| recording.nodes.push(node())).is_some()
    }

    /// Adds the operations of another graph to the one that this thread captures. Returns whether it captures
    /// one.
    pub(super) fn records_all(&self, nodes: &[GraphNode], kept: &Kept) -> bool {
        let taken = self.with_recording(|recording| {
            recording.nodes.extend_from_slice(nodes);
            kept.allocations.iter().for_each(|(own, is_written)| recording.kept.keep(own, *is_written));
        });
        taken.is_some()
    }

    /// Makes the graph that this thread captures keep memory of the device.
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

    /// Returns an error with `reason` if this thread captures a graph of the device.
    pub(crate) fn refuse_in_graph(&self, reason: &'static str) -> Result<(), DeviceError> {
        if self.is_recording() {
            return Err(DeviceError::Capture { device: self.to_string(), reason });
        }
        Ok(())
    }
}
