//! Shared memory of a launch.

/// A launch's use of the memory that a multiprocessor divides between shared memory and L1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SharedMemory {
    /// Bytes of dynamic shared memory per block.
    pub(crate) dynamic_bytes: u32,
    /// Number of blocks for which a multiprocessor reserves shared memory, capped at the number it can run.
    /// The rest is cache. By default the driver divides the memory.
    pub(crate) blocks: Option<u32>,
}

impl SharedMemory {
    /// `dynamic_bytes` per block; the driver divides the memory.
    pub(crate) fn dynamic(dynamic_bytes: u32) -> Self {
        Self { dynamic_bytes, blocks: None }
    }
}
