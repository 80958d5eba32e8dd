//! The memory of queues, and the sizes of queues and grids.

use std::marker::PhantomData;

use evenpath_kernels::hisparse::queue::{self, Specification, Tree, TreeQueues};
use evenpath_simt::kernel::Kernel;

use super::QueuedOptions;
use super::device::{Content, DeviceHiSparse, Nodes};
use crate::Value;
use crate::device::{Device, DeviceError, DeviceVec, Launch, Launcher, prefix};
use crate::matrix::hisparse;
use crate::operand::OpError;

/// Minimum and maximum capacity of a queue, unless set by the options.
const CAPACITY: (usize, usize) = (1 << 10, 1 << 20);
/// Units of the pool per place of a queue for a traversal: a leaf that passes through a queue has at least 48.
const UNITS_PER_LARGE_LEAF: usize = 64;
/// The same for an operation in which all leaves pass through queues.
pub(super) const UNITS_PER_LEAF: usize = 8;
/// Number of nonzeros that occupy one block.
const BLOCK_NONZEROS: usize = 1 << 10;
/// The same for a matrix that is too small to occupy a device: then its time is that of the slowest block.
const FEW_NONZEROS: usize = 1 << 8;
/// log2 of the number of entries of an inner node that are one block's work, and the same for a matrix with
/// few nonzeros per block.
const CHILDREN_LOG2: (u32, u32) = (7, 4);

/// Capacity of each queue, for trees whose pools have `units` units in total.
pub(super) fn capacity(options: QueuedOptions, units: usize, units_per_place: usize) -> u32 {
    let (least, most) = CAPACITY;
    options.capacity.unwrap_or((units / units_per_place).clamp(least, most) as u32)
}

/// Makes a grid of as many blocks as the device runs at once, fewer for few nonzeros, or as many as the
/// options request.
pub(super) fn grid<K: Kernel>(
    launcher: Launcher<K>,
    options: QueuedOptions,
    nnz: usize,
) -> Result<Launch<K>, DeviceError> {
    if let Some(blocks) = options.blocks {
        return launcher.blocks(blocks.max(1) as usize);
    }
    let resident = launcher.resident_blocks()? as usize;
    let few = nnz / FEW_NONZEROS + 1;
    launcher.blocks(if few <= resident { few } else { resident.min(nnz / BLOCK_NONZEROS + 1) })
}

/// Queues of a specification in a device's memory. One run uses them at a time.
pub(super) struct QueueMemory<S> {
    capacity: u32,
    /// The places of all queues, zero or as left by earlier runs; then the state of odd runs and that of even
    /// ones, of which the next run's is zero.
    words: DeviceVec<u64>,
    /// Number of the last run.
    run: u32,
    /// True if a graph contains a run of these queues, which may have left its state since.
    is_captured: bool,
    specification: PhantomData<S>,
}

impl<S: Specification> QueueMemory<S> {
    pub(super) fn new(device: &Device, capacity: u32) -> Result<Self, DeviceError> {
        let words = device.zeros(queue::places_words::<S>(capacity) + 2 * queue::state_words::<S>())?;
        Ok(Self { capacity, words, run: 0, is_captured: false, specification: PhantomData })
    }

    /// Returns the queues for the next run, which starts when all earlier ones have ended.
    pub(super) fn next_run(&mut self) -> Result<queue::Queues, DeviceError> {
        self.run = self.run.wrapping_add(1);
        self.is_captured |= self.words.device().is_recording();
        if self.run == 0 || self.is_captured {
            // Run numbers wrap around, and some places may still be tagged by an early run. A run of a graph has one number, and
            // nothing clears its state.
            self.words.set_zero()?;
            self.run = self.run.max(1);
        }
        let (words, places) = (self.words.as_global_mut(), queue::places_words::<S>(self.capacity));
        let state = |run: u32| words.skip(places + (run % 2) as usize * queue::state_words::<S>());
        Ok(queue::Queues {
            places: prefix(words, places),
            state: state(self.run),
            next_state: state(self.run.wrapping_add(1)),
            capacity: self.capacity,
            run: self.run,
        })
    }

    /// Makes the next run start with zeros everywhere: after a run that was not launched, and thus has not
    /// cleared the next one's state.
    pub(super) fn forget_runs(&mut self) {
        self.run = u32::MAX;
    }

    /// Capacity of each queue.
    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Size in bytes of device memory.
    pub(super) fn bytes(&self) -> u64 {
        self.words.bytes()
    }
}

impl QueueMemory<TreeQueues> {
    /// Creates the queues for traversals of a tree.
    pub(super) fn for_tree(nodes: &Nodes, options: QueuedOptions) -> Result<Self, DeviceError> {
        let units = nodes.pool.len();
        Self::new(nodes.pool.device(), capacity(options, units, UNITS_PER_LARGE_LEAF))
    }
}

impl<V: Value, const D: usize> DeviceHiSparse<V, D> {
    /// Traverses the stored tree of an m x n matrix with a program's own kernel, added by [`Device::add_kernel`]:
    /// `kernel` creates it from the tree and from queues for it. Its body calls `hisparse::queue::traverse` of the
    /// crate evenpath-kernels. Transposition and scale are left to the kernel. The launch is asynchronous; a
    /// matrix without nonzeros needs none. `examples/queue_operation.rs` is a program with such a kernel.
    ///
    /// # Errors
    ///
    /// If the device is the CPU, which runs no kernels; if it does not know the kernel, there is not enough memory for the queues, or
    /// the device was lost.
    ///
    /// # Safety
    ///
    /// The kernel is sound for blocks of the threads that it declares. Its other views are of live buffers on
    /// this device, which have the elements that it accesses and are not otherwise used while it runs.
    pub unsafe fn traverse<K: Kernel>(
        &self,
        options: QueuedOptions,
        kernel: impl FnOnce(Tree<V>, queue::Queues) -> K,
    ) -> Result<(), OpError> {
        let device = self.device();
        let info = device.first_instance::<K>()?;
        let nodes = match self.content() {
            Content::Host(_) => return Err(device.no_kernels(info).into()),
            Content::Machine(nodes) if nodes.root.is_null() => return Ok(()),
            Content::Machine(nodes) => nodes,
        };
        let mut queues = QueueMemory::for_tree(nodes, options)?;
        let launch = grid(device.instance::<K>(info), options, nodes.nnz)?;
        let kernel = kernel(nodes.tree::<V, D>(launch.grid()), queues.next_run()?);
        // SAFETY: the tree is valid, and the queues are new; the rest is guaranteed by the caller. Buffers
        // are freed in the stream's order.
        unsafe { launch.launch(kernel) }?;
        Ok(())
    }
}

impl Nodes {
    /// The tree for traversal by `blocks` blocks. The root is not null.
    pub(super) fn tree<V: Value, const D: usize>(&self, blocks: u32) -> Tree<V> {
        let (many, few) = CHILDREN_LOG2;
        Tree {
            pool: self.view(),
            root: self.root.0,
            height: hisparse::depth(self.rows, self.cols, D) as u32 - 1,
            d_log2: D.ilog2(),
            children_log2: if self.nnz / FEW_NONZEROS < blocks as usize { few } else { many },
        }
    }
}
