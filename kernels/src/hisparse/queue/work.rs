//! The work in queues: pieces of nodes.

use evenpath_simt::{device, Packet};

use super::super::layout::NULL;
use super::specification::{Payload, MAX_WORDS};

/// The largest number of entries of a piece of an inner node: one per thread.
pub const PIECE_CHILDREN: u32 = 128;
/// Threads of a block that traverses a tree.
pub const BLOCK: u32 = PIECE_CHILDREN;
/// The largest number of entries of a piece of a leaf.
pub const PIECE_ENTRIES: u32 = 1024;
/// The largest number of pieces of a node: what 9 bits count.
const MAX_PIECES: u32 = 512;

/// A piece of a node, and the node's position in the matrix. In queues and in shared memory it takes four words.
#[derive(Clone, Copy)]
pub struct Work {
    /// Reference to the node; null if there is none.
    pub reference: u32,
    /// Its row, counted in nodes of its level.
    pub row: u32,
    /// Its column, counted in nodes of its level.
    pub col: u32,
    /// The number of levels below the node: 0 for a leaf. Less than 8.
    pub height: u32,
    /// The number of slots of the node, 1 to 2¹⁶.
    pub len: u32,
    /// The index of the piece.
    pub piece: u32,
}

impl Work {
    /// No node.
    pub const NONE: Self = Self { reference: NULL, row: 0, col: 0, height: 0, len: 1, piece: 0 };

    /// Returns the number of pieces of the node, if pieces of inner nodes have up to 2 to the power of `children_log2`
    /// entries; nodes of many entries have larger ones.
    #[device]
    pub fn pieces(self, children_log2: u32) -> u32 {
        let piece_log2 = if self.height == 0 { PIECE_ENTRIES.ilog2() } else { children_log2 };
        ((self.len + (1 << piece_log2) - 1) >> piece_log2).min(MAX_PIECES)
    }

    /// Slots of each piece; the last may have fewer. A multiple of 4, for vector loads.
    #[device]
    fn piece_len(self, children_log2: u32) -> u32 {
        self.len.div_ceil(self.pieces(children_log2)).next_multiple_of(4)
    }

    /// Returns the first slot of the piece.
    #[device]
    pub fn begin(self, children_log2: u32) -> u32 {
        self.piece * self.piece_len(children_log2)
    }

    /// One past the last slot of the piece.
    #[device]
    pub fn end(self, children_log2: u32) -> u32 {
        self.len.min((self.piece + 1) * self.piece_len(children_log2))
    }

    /// Returns the piece as four words.
    #[device]
    fn words(self) -> [u32; 4] {
        [self.reference, self.row, self.col, self.height | self.piece << 3 | (self.len - 1) << 12]
    }

    /// Returns the piece of [`words`](Self::words).
    #[device]
    fn of_words([reference, row, col, extent]: [u32; 4]) -> Self {
        Self {
            reference,
            row,
            col,
            height: extent & 7,
            len: (extent >> 12 & 0xffff) + 1,
            piece: extent >> 3 & (MAX_PIECES - 1),
        }
    }

    /// Returns the piece as 16 bytes.
    #[device]
    pub fn packet(self) -> Packet {
        let [a, b, c, d] = self.words();
        [u64::from(a) | u64::from(b) << 32, u64::from(c) | u64::from(d) << 32]
    }

    /// Returns the piece of a [`packet`](Self::packet).
    #[device]
    pub fn from_packet([low, high]: Packet) -> Self {
        Self::of_words([low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32])
    }
}

impl Payload for Work {
    const WORDS: usize = 4;

    #[device]
    fn to_words(self) -> [u32; MAX_WORDS] {
        let [reference, row, col, extent] = self.words();
        [reference, row, col, extent, 0, 0, 0, 0]
    }

    #[device]
    fn from_words([reference, row, col, extent, ..]: [u32; MAX_WORDS]) -> Self {
        Self::of_words([reference, row, col, extent])
    }
}
