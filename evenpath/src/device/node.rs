//! Operations of graphs.

use evenpath_simt::kernel::{Argument, KernelInfo};

use super::order::MemoryAccess;
use super::shared::SharedMemory;

/// An operation of a graph.
#[derive(Debug, Clone)]
pub(crate) enum GraphNode {
    Launch { kernel: &'static KernelInfo, grid: u32, shared: SharedMemory, arguments: Vec<Argument> },
    Zero { address: u64, bytes: u64 },
    Copy { from: u64, to: u64, bytes: u64 },
    Store { address: u64, word: u32 },
}

impl GraphNode {
    /// Name of the operation; for a launch, the kernel's.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Launch { kernel, .. } => kernel.name,
            Self::Zero { .. } => "a fill with zeros",
            Self::Copy { .. } => "a copy",
            Self::Store { .. } => "a store of a number",
        }
    }

    /// The memory ranges that the operation reads and writes.
    pub(super) fn accesses(&self) -> Vec<MemoryAccess> {
        match self {
            Self::Launch { kernel, arguments, .. } => MemoryAccess::of_launch(kernel, arguments),
            &Self::Zero { address, bytes } => vec![MemoryAccess::write(address, bytes)],
            &Self::Copy { from, to, bytes } => MemoryAccess::copy(from, to, bytes).into(),
            &Self::Store { address, .. } => vec![MemoryAccess::write(address, 4)],
        }
    }
}
