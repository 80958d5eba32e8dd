//! Options of a simulated GPU.

/// Order in which blocks start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BlockOrder {
    /// Order of indices.
    #[default]
    Ascending,
    /// A random order determined by the seed and the grid's size.
    Seeded(u64),
}

/// Strength of global memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryOrder {
    /// Every block sees every atomic store at once.
    Sequential,
    /// Relaxed atomic stores of other blocks become visible late and in any order, and relaxed loads may
    /// return the previous value, as far as a GPU's memory model allows. Determined by the seed and the
    /// launch's number.
    Weak(u64),
}

impl Default for MemoryOrder {
    fn default() -> Self {
        Self::Weak(0)
    }
}

/// Options of a simulated GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimulatedOptions {
    /// Bytes of global memory; 4 GiB by default.
    pub memory_bytes: u64,
    /// Order in which blocks start; by index by default.
    pub block_order: BlockOrder,
    /// Strength of global memory; weak with seed 0 by default.
    pub memory_order: MemoryOrder,
    /// Number of CPU threads that run blocks: at most one per block, and at most 1024. 0, the default, means
    /// one per core. With 1, runs are reproducible.
    pub threads: usize,
    /// Number of blocks that one CPU thread keeps in flight while they wait for each other; 16 by default.
    pub resident_blocks: usize,
    /// The number of multiprocessors that the device reports; plans depend on it. 0, the default, means one per CPU thread.
    pub multiprocessors: u32,
    /// Bytes of second-level cache that the device reports; plans depend on it. Unknown by default.
    pub l2_bytes: Option<u64>,
    /// Maximum number of threads per block; 1024 by default, and at most 65535.
    pub max_block_size: u32,
    /// Maximum shared memory of a block, in bytes; 227 KiB by default. 48 KiB of them may be statically
    /// sized.
    pub max_shared_bytes: u32,
    /// Number of seconds without progress after which waiting blocks are abandoned; 10 by default.
    pub patience_seconds: u64,
}

impl Default for SimulatedOptions {
    fn default() -> Self {
        Self {
            memory_bytes: 4 << 30,
            block_order: BlockOrder::Ascending,
            memory_order: MemoryOrder::default(),
            threads: 0,
            resident_blocks: 16,
            multiprocessors: 0,
            l2_bytes: None,
            max_block_size: 1024,
            max_shared_bytes: 227 * 1024,
            patience_seconds: 10,
        }
    }
}

/// Maximum number of CPU threads that run blocks.
const MAX_THREADS: usize = 1024;

impl SimulatedOptions {
    /// Sets the bytes of global memory.
    #[must_use]
    pub fn with_memory_bytes(self, memory_bytes: u64) -> Self {
        Self { memory_bytes, ..self }
    }

    /// Sets the order in which blocks start.
    #[must_use]
    pub fn with_block_order(self, block_order: BlockOrder) -> Self {
        Self { block_order, ..self }
    }

    /// Sets the strength of global memory.
    #[must_use]
    pub fn with_memory_order(self, memory_order: MemoryOrder) -> Self {
        Self { memory_order, ..self }
    }

    /// Sets the number of CPU threads.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets the number of blocks in flight per CPU thread.
    #[must_use]
    pub fn with_resident_blocks(self, resident_blocks: usize) -> Self {
        Self { resident_blocks, ..self }
    }

    /// Sets the number of multiprocessors that the device reports.
    #[must_use]
    pub fn with_multiprocessors(self, multiprocessors: u32) -> Self {
        Self { multiprocessors, ..self }
    }

    /// Sets the bytes of second-level cache that the device reports.
    #[must_use]
    pub fn with_l2_bytes(self, l2_bytes: impl Into<Option<u64>>) -> Self {
        Self { l2_bytes: l2_bytes.into(), ..self }
    }

    /// Sets the limit on threads per block.
    #[must_use]
    pub fn with_max_block_size(self, max_block_size: u32) -> Self {
        Self { max_block_size, ..self }
    }

    /// Sets the limit on bytes of shared memory per block.
    #[must_use]
    pub fn with_max_shared_bytes(self, max_shared_bytes: u32) -> Self {
        Self { max_shared_bytes, ..self }
    }

    /// Sets the number of seconds without progress after which waiting blocks are abandoned.
    #[must_use]
    pub fn with_patience_seconds(self, patience_seconds: u64) -> Self {
        Self { patience_seconds, ..self }
    }

    /// Number of CPU threads that run the blocks of a large grid.
    pub(super) fn cpu_threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(MAX_THREADS),
        }
    }
}
