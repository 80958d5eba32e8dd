//! Names of operations of a machine, and of their parameters.

/// Threads in a warp.
pub const WARP_SIZE: u32 = 32;

/// Lane from which a shuffle reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shuffle {
    /// The lane with an index lower by the argument; itself where there is none.
    Up,
    /// The lane with an index higher by the argument; itself where there is none.
    Down,
    /// The lane whose index differs by exclusive or.
    Xor,
    /// The lane with that index.
    Index,
}

/// Order of an atomic operation and the accesses around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordering {
    /// Not at all.
    Relaxed,
    /// Accesses after it see what the writer released.
    Acquire,
    /// Accesses before it are visible to a reader that acquires.
    Release,
    /// Both.
    AcquireRelease,
}

/// The threads among which an operation is atomic and ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The threads of the block.
    Block,
    /// The threads of the device.
    Device,
    /// The threads of the device and of the host.
    System,
}

/// The atomic operations that return what was there before; kernels call the views' methods.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AtomicOperation {
    Add,
    Min,
    Max,
    Exchange,
}
