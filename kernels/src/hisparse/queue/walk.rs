//! Subtrees that found no room in a queue: the block that found them walks them, depth first.

use evenpath_simt::{thread, Arena, Element, Packet, Shared};

use super::tree::Tree;
use super::work::{Work, PIECE_CHILDREN};

/// Inner nodes on a way from the root to a leaf, at most: a tree has at most seven levels.
const FRAMES: usize = 6;

/// What a block has to walk, in shared memory; all of its threads know how far it has come.
#[derive(Clone, Copy)]
pub struct Walk {
    /// Nodes whose pieces from a certain one on are left.
    nodes: Shared<u32>,
    /// How many, and how many pieces they have left.
    counts: Shared<u32>,
    /// The inner nodes from one of these down to where the walk is.
    frames: Shared<u32>,
    /// Of each the next slot.
    slots: Shared<u32>,
    /// Nodes that were taken.
    taken: u32,
    /// Frames in use.
    depth: u32,
}

impl Walk {
    /// Bytes of shared memory, beyond what alignment takes.
    pub const BYTES: usize = 4 * (4 * PIECE_CHILDREN as usize + 4 * FRAMES + FRAMES + 2);

    /// Nothing to walk, for the block after a barrier. The arena begins at a multiple of 16.
    #[inline(always)]
    pub fn new(arena: &mut Arena) -> Self {
        let nodes = arena.take(4 * PIECE_CHILDREN as usize);
        let frames = arena.take(4 * FRAMES);
        let walk =
            Self { nodes, frames, slots: arena.take(FRAMES), counts: arena.take(2), taken: 0, depth: 0 };
        walk.clear();
        walk
    }

    /// Nothing left, for the block after a barrier.
    #[inline(always)]
    fn clear(self) {
        if thread::index() < 2 {
            self.counts.store(thread::index() as usize, 0);
        }
    }

    /// Adds the pieces of a node from its `piece` on; a thread adds one node at most until all are walked.
    #[inline(always)]
    pub fn add(self, work: Work) {
        let at = self.counts.fetch_add(0, 1);
        self.counts.fetch_add(1, work.pieces() - work.piece);
        self.nodes.store_16(4 * at as usize, work.packet());
    }

    /// Pieces that were added; after a barrier, before the walk.
    #[inline(always)]
    pub fn pieces(self) -> u32 {
        self.counts.load(1)
    }

    /// A leaf for each thread, or none; of a leaf that was added, from its piece on. `None` if all is walked. For all
    /// threads of the block at once, after a barrier.
    #[inline(always)]
    pub fn next<V: Element>(&mut self, tree: Tree<V>) -> Option<Work> {
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
            // All have read before one writes.
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

    /// Goes on with the children of a node, from those of its piece on.
    #[inline(always)]
    fn descend(&mut self, work: Work) {
        if thread::index() == 0 {
            let packet: Packet = work.packet();
            self.frames.store_16(4 * self.depth as usize, packet);
            self.slots.store(self.depth as usize, work.begin());
        }
        self.depth += 1;
        thread::barrier();
    }
}
