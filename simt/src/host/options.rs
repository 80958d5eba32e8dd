//! What a simulated GPU is like.

/// The order in which blocks start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BlockOrder {
    /// By index.
    #[default]
    Ascending,
    /// In a random order that the seed and the grid's size determine.
    Seeded(u64),
}

/// How weak global memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryOrder {
    /// Every block sees every atomic store at once.
    Sequential,
    /// Relaxed atomic stores of other blocks become visible late and in any order, and relaxed loads may see the value
    /// before the last, as far as a GPU's memory model allows. The seed and the launch's number determine which.
    Weak(u64),
}

impl Default for MemoryOrder {
    fn default() -> Self {
        Self::Weak(0)
    }
}

/// What a simulated GPU is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimulatedOptions {
    /// Bytes of global memory; 4 GiB by default.
    pub memory_bytes: u64,
    /// The order in which blocks start; by index by default.
    pub block_order: BlockOrder,
    /// How weak global memory is; weak with seed 0 by default.
    pub memory_order: MemoryOrder,
    /// CPU threads that run blocks: at most one per block, and at most 1024. 0, the default, means one per core. With 1, runs
    /// are repeatable.
    pub threads: usize,
    /// Blocks that one CPU thread keeps in flight while they wait for each other; 16 by default.
    pub resident_blocks: usize,
    /// The number of multiprocessors that the device reports; plans depend on it. 0, the default, means one per CPU thread.
    pub multiprocessors: u32,
    /// Bytes of second-level cache that the device reports; plans depend on it. Unknown by default.
    pub l2_bytes: Option<u64>,
    /// Threads per block, at most; 1024 by default.
    pub max_block_size: u32,
    /// Bytes of shared memory per block, at most; 227 KiB by default. 48 KiB of them may be statically sized.
    pub max_shared_bytes: u32,
    /// Seconds without progress after which waiting blocks are given up; 10 by default.
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

/// CPU threads that run blocks, at most.
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

    /// Sets how weak global memory is.
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

    /// Sets the seconds without progress after which waiting blocks are given up.
    #[must_use]
    pub fn with_patience_seconds(self, patience_seconds: u64) -> Self {
        Self { patience_seconds, ..self }
    }

    /// CPU threads that run the blocks of a large grid.
    pub(super) fn cpu_threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(MAX_THREADS),
        }
    }
}
