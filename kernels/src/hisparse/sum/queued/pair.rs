//! Elements of the queues of a sum.

use evenpath_simt::device;

use crate::hisparse::queue::{Payload, Specification, MAX_WORDS};

/// A pair of nodes of A and B at the same position, of which one may be absent. First it is to be merged into a node of the sum.
/// Then, if it is an inner node, its slots are shared among lanes: each slot is a child, again a pair.
#[derive(Debug, Clone, Copy)]
pub struct QueuedPair {
    /// Reference to A's node; null if there is none.
    pub(super) a: u32,
    /// Reference to B's node; null if there is none.
    pub(super) b: u32,
    /// The word of the sum's pool for the reference to the sum, 0 for the root; after the merge, the reference itself.
    pub(super) sum: u32,
    /// The number of levels below the nodes: 0 for leaves.
    pub(super) height: u32,
    /// The first slot of a merged pair; else 0.
    pub(super) begin: u32,
    /// One past the last slot of a merged pair; else 1.
    pub(super) end: u32,
}

impl QueuedPair {
    /// No nodes.
    pub(super) const NONE: Self = Self { a: 0, b: 0, sum: 0, height: 0, begin: 0, end: 1 };
}

impl Payload for QueuedPair {
    const WORDS: usize = 5;

    #[device]
    fn to_words(self) -> [u32; MAX_WORDS] {
        let Self { a, b, sum, height, begin, end } = self;
        // A node has up to 2¹⁶ slots.
        [a, b, sum, height, begin | (end - 1) << 16, 0, 0, 0]
    }

    #[device]
    fn from_words([a, b, sum, height, slots, ..]: [u32; MAX_WORDS]) -> Self {
        Self { a, b, sum, height, begin: slots & 0xffff, end: (slots >> 16) + 1 }
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

/// The queues of a sum.
#[derive(Debug, Clone, Copy)]
pub struct SumQueues;

/// Merged pairs of up to eight slots.
pub(super) const NARROW: u32 = 2;
/// Pairs of sparse nodes that are not large: a warp merges each, one after another.
pub(super) const SMALL: u32 = 3;
/// Pairs with a dense or a large node: a block merges each.
pub(super) const LARGE: u32 = 4;
/// Sparse nodes that only one tree has, in the order of the sum: a warp copies each, one after another.
pub(super) const COPIES: u32 = 5;

/// The largest number of slots of a merged pair in [`NARROW`].
pub(super) const NARROW_SLOTS: u32 = 8;

impl Specification for SumQueues {
    type Element = QueuedPair;
    const QUEUES: u32 = 6;
    // Lanes: a block for the root, for the slots of wide merged pairs and for large pairs; else 8.
    const LANES_LOG2: u32 = 0x37_3377;
}
