//! Shares: how the blocks of a traversal divide the first levels of a tree without queues.
//!
//! The *parents* are the root alone or, if it has no more children than a block has threads, its children. Every block
//! reads them, so that it knows their children without being told. A share is some consecutive children: enough that
//! each block gets one share, but at most one child for each thread.

use evenpath_simt::{device, thread, Arena, Shared, Word};

use super::super::layout::NULL;
use super::tree::{EntryOperation, Tree};
use super::work::{Work, BLOCK};
use crate::block::count_scan::CountScan;
use crate::block::search::partition_point;

/// The parents, in shared memory.
#[derive(Clone, Copy)]
pub(super) struct Parents {
    nodes: Shared<u32>,
    /// The number of children of all parents before each one.
    starts: Shared<u32>,
    scan: CountScan<u32, { BLOCK as usize }>,
}

/// The shares of a traversal. All blocks have the same.
#[derive(Clone, Copy)]
pub(super) struct Shares {
    parents: Parents,
    /// The number of parents.
    parent_count: u32,
    /// The number of their children.
    children: u32,
    /// The number of shares.
    pub(super) count: u32,
    /// The number of children of a share; the last may have fewer.
    pub(super) len: u32,
}

impl Parents {
    /// Bytes of shared memory.
    pub(super) const BYTES: usize = (16 + 4) * BLOCK as usize + CountScan::<u32, { BLOCK as usize }>::BYTES;

    /// Returns the memory for parents. The arena begins at a multiple of 16.
    #[device]
    pub(super) fn take(arena: &mut Arena) -> Self {
        let (nodes, starts) = (arena.take(4 * BLOCK as usize), arena.take(BLOCK as usize));
        Self { nodes, starts, scan: CountScan::take(arena) }
    }

    /// Reads the parents and divides their children. All threads of the block call it together, once; it has barriers.
    #[device(track_caller)]
    pub(super) fn find<V: Word, F: EntryOperation<V>>(self, tree: Tree<V>, operation: &F) -> Shares {
        let (root, _) = tree.with_len(tree.root());
        let (mut parent, mut len, mut parent_count) = (root, root.len, 1);
        if tree.height > 1 && root.len <= BLOCK {
            parent_count = root.len;
            let is_child = thread::index() < root.len;
            let child = if is_child { tree.child(root, thread::index()) } else { Work::NONE };
            let child = if operation.enters(tree.region(child)) { child } else { Work::NONE };
            (parent, _) = tree.with_len(child);
            len = if parent.reference == NULL { 0 } else { parent.len };
        } else if tree.height == 0 {
            // The root is the only child, and has no parent.
            len = 1;
        }
        let counted = self.scan.exclusive(if thread::index() < parent_count { len } else { 0 });
        self.nodes.store_16(4 * thread::index() as usize, parent.packet());
        self.starts.store(thread::index() as usize, counted.before);
        thread::barrier();
        let children = counted.total;
        let share_len = children.div_ceil(thread::grid_size()).clamp(1, BLOCK);
        Shares { parents: self, parent_count, children, count: children.div_ceil(share_len), len: share_len }
    }
}

impl Shares {
    /// Returns this thread's child of a share, its length unknown; no node if there is none for it.
    #[device(track_caller)]
    pub(super) fn child<V: Word>(self, tree: Tree<V>, share: u32) -> Work {
        let child = share * self.len + thread::index();
        if thread::index() >= self.len || child >= self.children {
            return Work::NONE;
        }
        if tree.height == 0 {
            return tree.root();
        }
        let Parents { nodes, starts, .. } = self.parents;
        let parent =
            partition_point(1, self.parent_count, |parent| starts.load(parent as usize) <= child) - 1;
        let slot = child - starts.load(parent as usize);
        tree.child(Work::from_packet(nodes.load_16(4 * parent as usize)), slot)
    }
}
