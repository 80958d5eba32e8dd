//! Elements of the queues of a conversion.

use evenpath_simt::device;

use crate::hisparse::queue::{FoundElement, Payload, Specification, MAX_WORDS, WIDE};

/// Nodes of a tree that is being made: one inner node, pieces of it, or its children.
#[derive(Debug, Clone, Copy)]
pub struct BinningWork {
    /// The number of the inner node; meaningless for children.
    pub(super) node: u32,
    /// The number of levels below the node, or below the children.
    pub(super) height: u32,
    /// [`NODE`], [`CHILDREN`], or [`PIECES`] plus a phase.
    pub(super) task: u32,
    /// The first piece, or the number of the first child; 0 for a node.
    pub(super) begin: u32,
    /// One past the last; 1 for a node.
    pub(super) end: u32,
}

/// A node of at most a tile of entries, which is to be binned.
pub(super) const NODE: u32 = 0;
/// Children of one node, which are to be looked at.
pub(super) const CHILDREN: u32 = 1;
/// Pieces of a node with more entries, in the first phase.
pub(super) const PIECES: u32 = 2;

impl BinningWork {
    /// No nodes.
    pub(super) const NONE: Self = Self { node: 0, height: 0, task: CHILDREN, begin: 0, end: 0 };

    /// Returns an inner node.
    #[device]
    pub(super) fn node(node: u32, height: u32) -> Self {
        Self { node, height, task: NODE, begin: 0, end: 1 }
    }

    /// Returns `count` children, starting at number `first`.
    #[device]
    pub(super) fn children(height: u32, first: u32, count: u32) -> Self {
        Self { node: 0, height, task: CHILDREN, begin: first, end: first + count }
    }

    /// Returns [`children`](Self::children) for the queue in which they are looked at.
    #[device]
    pub(super) fn found_children(height: u32, first: u32, count: u32) -> FoundElement<Self> {
        let queue = if count <= NARROW_CHILDREN { NARROW } else { WIDE };
        FoundElement { queue, element: Self::children(height, first, count) }
    }
}

impl Payload for BinningWork {
    const WORDS: usize = 4;

    #[device]
    fn to_words(self) -> [u32; MAX_WORDS] {
        let Self { node, height, task, begin, end } = self;
        [node, height | task << 3, begin, end, 0, 0, 0, 0]
    }

    #[device]
    fn from_words([node, task, begin, end, ..]: [u32; MAX_WORDS]) -> Self {
        Self { node, height: task & 7, task: task >> 3, begin, end }
    }

    #[device]
    fn slots(self) -> u32 {
        self.end - self.begin
    }

    #[device]
    fn part(self, first: u32, count: u32) -> Self {
        let begin = self.begin + first;
        Self { begin, end: begin + count, ..self }
    }
}

/// The queues of a conversion.
#[derive(Debug, Clone, Copy)]
pub struct BinningQueues;

/// Queue of up to [`NARROW_CHILDREN`] children of a node.
pub(super) const NARROW: u32 = 2;
/// Queue of nodes with at most [`SMALL_ENTRIES`] entries. A warp bins each.
pub(super) const SMALL: u32 = 3;

/// The largest number of children in [`NARROW`].
pub(super) const NARROW_CHILDREN: u32 = 8;
/// The largest number of entries of a node in [`SMALL`]: one per lane.
pub(super) const SMALL_ENTRIES: u32 = 32;

impl Specification for BinningQueues {
    type Element = BinningWork;
    const QUEUES: u32 = 4;
    // Lanes: a warp for small nodes, 8 for a few children, else a block.
    const LANES_LOG2: u32 = 0x5377;
}
