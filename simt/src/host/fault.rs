//! Faults reported by the simulated GPU.

use std::fmt;
use std::panic::Location;

use crate::element::ScalarType;

/// A mistake found by the simulated GPU.
#[derive(Clone, PartialEq, thiserror::Error)]
pub struct Fault {
    /// Place of a kernel's mistake; `None` for a mistake of the host.
    pub place: Option<Place>,
    /// Kind of mistake.
    pub kind: FaultKind,
}

/// A place in a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The kernel's entry name.
    pub kernel: &'static str,
    /// The block's index in the grid; `None` if the launch itself was refused.
    pub block: Option<u32>,
    /// The thread's index in its block; its lane is this modulo 32.
    pub thread: Option<u32>,
    /// The line of the kernel.
    pub line: Option<&'static Location<'static>>,
}

/// Kinds of mistakes.
#[derive(Clone, PartialEq, thiserror::Error)]
#[allow(missing_docs)]
pub enum FaultKind {
    #[error(
        "access to {count} element(s) at index {index} of a view of {len} {element} (address {address:#x})"
    )]
    OutsideView { address: u64, index: usize, count: usize, len: u64, element: ScalarType },
    #[error(
        "access to {bytes} bytes at address {address:#x}, outside the allocation of {allocated} bytes there"
    )]
    OutsideAllocation { address: u64, bytes: u64, allocated: u64 },
    #[error("access to {bytes} bytes at address {address:#x}, which was freed")]
    UseAfterFree { address: u64, bytes: u64 },
    #[error("access to {bytes} bytes at address {address:#x}, where nothing was ever allocated")]
    NotAllocated { address: u64, bytes: u64 },
    #[error("access to {bytes} bytes at address {address:#x}, which is not a multiple of {bytes}")]
    Misaligned { address: u64, bytes: u64 },
    #[error("read of {bytes} bytes of global memory at address {address:#x} that nothing wrote")]
    UninitializedGlobal { address: u64, bytes: u64 },
    #[error(
        "global memory at address {address:#x} is written by the launch that loads it through a read-only view"
    )]
    ReadOnlyWritten { address: u64 },
    #[error("read of {bytes} bytes of shared memory at address {address:#x} that nothing wrote")]
    UninitializedShared { address: u32, bytes: u32 },
    #[error("access to shared memory at index {index} of a view of {len} {element} (address {address:#x})")]
    OutsideSharedView { address: u32, index: usize, len: u32, element: ScalarType },
    #[error("{asked} bytes taken from an arena of shared memory with {left} left")]
    ArenaExhausted { asked: u64, left: u32 },
    #[error(
        "access to {bytes} bytes of shared memory at address {address:#x}, beyond the block's {size} bytes"
    )]
    OutsideShared { address: u32, bytes: u32, size: u32 },
    #[error(
        "race on shared memory at address {address:#x}: thread {thread} {this}, thread {other} {that} it before, and no barrier is between"
    )]
    SharedRace { address: u32, thread: u32, this: AccessKind, other: u32, that: AccessKind },
    #[error(
        "race on global memory at address {address:#x}: block {block} {this}, block {other} writes it before, and no release and acquire are between"
    )]
    GlobalRace { address: u64, block: u32, this: AccessKind, other: u32 },
    #[error(
        "race on global memory at address {address:#x}: stream {stream} {this} what stream {other} {that}, and neither waits for the other"
    )]
    StreamRace { address: u64, stream: u32, this: AccessKind, other: u32, that: AccessKind },
    #[error("barrier that not every thread of the block reaches: {waiting} wait at {at}; {missing}")]
    DivergentBarrier { waiting: String, at: String, missing: String },
    #[error("{what} with mask {mask:#010x} that not every lane of the mask reaches: {missing}")]
    DivergentCollective { what: &'static str, mask: u32, missing: String },
    #[error("{what} with mask {mask:#010x}, which does not name the calling lane {lane}")]
    NotInMask { what: &'static str, mask: u32, lane: u32 },
    #[error("shuffle that reads lane {source_lane}, which is not in the mask {mask:#010x}")]
    ShuffleSource { source_lane: u32, mask: u32 },
    #[error("panic in the kernel: {0}")]
    Panic(String),
    #[error("no block made progress for {seconds} s: {waiting} block(s) poll memory that nobody writes")]
    NoProgress { seconds: u64, waiting: usize },
    #[error("a grid of {blocks} blocks is invalid: a grid has 1 to {limit}")]
    GridSize { blocks: u32, limit: u32 },
    #[error("blocks of {threads} threads exceed the device's limit of {limit}")]
    BlockSize { threads: u32, limit: u32 },
    #[error("{bytes} bytes of shared memory per block ({what}) exceed the device's limit of {limit}")]
    SharedMemory { what: &'static str, bytes: u32, limit: u32 },
    #[error("{given} arguments for {declared} parameters")]
    Arguments { given: usize, declared: usize },
}

crate::debug_as_message!(Fault, FaultKind);

/// Kind of access to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AccessKind {
    Read,
    Write,
    Atomic,
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "reads",
            Self::Write => "writes",
            Self::Atomic => "updates",
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernel `{}`", self.kernel)?;
        if let Some(block) = self.block {
            write!(f, ", block {block}")?;
        }
        if let Some(thread) = self.thread {
            write!(f, ", thread {thread} (lane {} of warp {})", thread % 32, thread / 32)?;
        }
        match self.line {
            Some(line) => write!(f, ", at {line}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.kind),
            None => write!(f, "{}", self.kind),
        }
    }
}

impl From<FaultKind> for Fault {
    fn from(kind: FaultKind) -> Self {
        Self { place: None, kind }
    }
}

/// Formats thread indices, with runs shortened: `0-31, 40`.
pub(crate) fn list_threads(threads: impl IntoIterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for thread in threads {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == thread => *last = thread,
            _ => runs.push((thread, thread)),
        }
    }
    let runs: Vec<String> = runs
        .iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    runs.join(", ")
}
