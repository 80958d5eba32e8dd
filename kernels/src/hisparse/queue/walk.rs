//! Subtrees that found no space in a queue: the block that found them walks them, depth first.

use evenpath_simt::{device, thread, Arena, Packet, Shared, Word};

use super::tree::Tree;
use super::work::{Work, PIECE_CHILDREN};

/// The largest number of inner nodes on a path from the root to a leaf: a tree has at most seven levels.
const FRAMES: usize = 6;

/// The subtrees that a block has to walk, in shared memory. All of its threads know its progress.
#[derive(Clone, Copy)]
pub(super) struct SubtreeWalk {
    /// Nodes of which all pieces starting at a certain one are left.
    nodes: Shared<u32>,
    /// The number of these nodes, and of pieces that they have left.
    counts: Shared<u32>,
    /// The inner nodes on the path from one of these to the current one.
    frames: Shared<u32>,
    /// The next slot of each of these inner nodes.
    slots: Shared<u32>,
    /// log2 of the entries of a piece of an inner node.
    pub(super) children_log2: u32,
    /// The number of nodes that were taken.
    taken: u32,
    /// The number of frames in use.
    depth: u32,
}

impl SubtreeWalk {
    /// Bytes of shared memory, without padding for alignment.
    pub(super) const BYTES: usize = 4 * (4 * PIECE_CHILDREN as usize + 4 * FRAMES + FRAMES + 2);

    /// Returns an empty walk; the block needs a barrier before it uses it. The arena begins at a multiple of 16.
    #[device]
    pub(super) fn new(arena: &mut Arena, children_log2: u32) -> Self {
        let nodes = arena.take(4 * PIECE_CHILDREN as usize);
        let frames = arena.take(4 * FRAMES);
        let (slots, counts) = (arena.take(FRAMES), arena.take(2));
        let walk = Self { nodes, frames, slots, counts, children_log2, taken: 0, depth: 0 };
        walk.clear();
        walk
    }

    /// Empties the walk; the block needs a barrier before it uses it.
    #[device]
    fn clear(self) {
        if thread::index() < 2 {
            self.counts.store(thread::index() as usize, 0);
        }
    }

    /// Adds the pieces of a node, starting at its `piece`. A thread adds at most one node until all are walked.
    #[device]
    pub(super) fn add(self, work: Work) {
        let at = self.counts.fetch_add(0, 1);
        self.counts.fetch_add(1, work.pieces(self.children_log2) - work.piece);
        self.nodes.store_16(4 * at as usize, work.packet());
    }

    /// Returns the number of pieces that were added; after a barrier, before the walk.
    #[device]
    pub(super) fn pieces(self) -> u32 {
        self.counts.load(1)
    }

    /// Returns a leaf for each thread, or none; of a leaf that was added, starting at its piece. `None` if all is
    /// walked. All threads of the block call it together, after a barrier.
    #[device]
    pub(super) fn next<V: Word>(&mut self, tree: Tree<V>) -> Option<Work> {
        loop {
            if self.depth == 0 {
                if self.taken == self.counts.load(0) {
                    thread::barrier();
                    self.taken = 0;
                    self.clear();
                    return None;
                }
                let work = Work::from_packet(self.nodes.load_16(4 * self.taken as usize));
                self.taken += 1;
                if work.height == 0 {
                    return Some(if thread::index() == 0 { work } else { Work::NONE });
                }
                self.descend(work);
            }
            let top = self.depth as usize - 1;
            let work = Work::from_packet(self.frames.load_16(4 * top));
            let slot = self.slots.load(top);
            // All threads have read before one writes.
            thread::barrier();
            if slot >= work.len {
                self.depth -= 1;
                continue;
            }
            let is_last = work.height == 1;
            if thread::index() == 0 {
                self.slots.store(top, slot + if is_last { PIECE_CHILDREN } else { 1 });
            }
            if is_last {
                let slot = slot + thread::index();
                return Some(if slot < work.len { tree.child(work, slot) } else { Work::NONE });
            }
            let (child, _) = tree.with_len(tree.child(work, slot));
            if child.reference == Work::NONE.reference {
                thread::barrier();
            } else {
                self.descend(child);
            }
        }
    }

    /// Continues with the children of a node, starting at those of its piece.
    #[device]
    fn descend(&mut self, work: Work) {
        if thread::index() == 0 {
            let packet: Packet = work.packet();
            self.frames.store_16(4 * self.depth as usize, packet);
            self.slots.store(self.depth as usize, work.begin(self.children_log2));
        }
        self.depth += 1;
        thread::barrier();
    }
}
