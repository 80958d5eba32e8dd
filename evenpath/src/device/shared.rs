//! The shared memory of a launch.

/// What a launch wants of the memory that a multiprocessor divides between shared memory and its first-level cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SharedMemory {
    /// Bytes of a block beside the statically sized ones.
    pub(crate) dynamic_bytes: u32,
    /// Blocks that a multiprocessor keeps shared memory for, or as many as it can run if these are fewer. The rest is cache.
    /// By default the driver divides the memory.
    pub(crate) blocks: Option<u32>,
}

impl SharedMemory {
    /// `dynamic_bytes` for each block; the driver divides the memory.
    pub(crate) fn dynamic(dynamic_bytes: u32) -> Self {
        Self { dynamic_bytes, blocks: None }
    }
}
