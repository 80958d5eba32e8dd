//! What waits in queues: pieces of nodes.

use evenpath_simt::Packet;

use super::super::layout::NULL;

/// Entries of a piece of an inner node, at most: a thread each.
pub const PIECE_CHILDREN: u32 = 128;
/// Entries of a piece of a leaf, at most.
pub const PIECE_ENTRIES: u32 = 1024;

/// A piece of a node, and the node's place in the matrix. In queues and in shared memory it takes four words.
#[derive(Clone, Copy)]
pub struct Work {
    /// The node; null where there is none.
    pub reference: u32,
    /// Rows of nodes of its level above it.
    pub row: u32,
    /// Columns of nodes of its level before it.
    pub col: u32,
    /// Levels below the node's: 0 for a leaf. Less than 8.
    pub height: u32,
    /// Slots of the node, 1 to 2¹⁶.
    pub len: u32,
    /// Which piece, counted from 0.
    pub piece: u32,
}

impl Work {
    /// No node.
    pub const NONE: Self = Self { reference: NULL, row: 0, col: 0, height: 0, len: 1, piece: 0 };

    /// Pieces of the node.
    #[inline(always)]
    pub fn pieces(self) -> u32 {
        self.len.div_ceil(if self.height == 0 { PIECE_ENTRIES } else { PIECE_CHILDREN })
    }

    /// Slots of each piece but the last, which has as many or fewer: a multiple of 4, for loads by fours.
    #[inline(always)]
    fn piece_len(self) -> u32 {
        self.len.div_ceil(self.pieces()).next_multiple_of(4)
    }

    /// The first slot of the piece.
    #[inline(always)]
    pub fn begin(self) -> u32 {
        self.piece * self.piece_len()
    }

    /// One more than the last slot of the piece.
    #[inline(always)]
    pub fn end(self) -> u32 {
        self.len.min((self.piece + 1) * self.piece_len())
    }

    /// As four words.
    #[inline(always)]
    pub fn words(self) -> [u32; 4] {
        [self.reference, self.row, self.col, self.height | self.piece << 3 | (self.len - 1) << 12]
    }

    /// From [`words`](Self::words).
    #[inline(always)]
    pub fn from_words(words: [u32; 4]) -> Self {
        let [reference, row, col, extent] = words;
        Self {
            reference,
            row,
            col,
            height: extent & 7,
            len: (extent >> 12 & 0xffff) + 1,
            piece: extent >> 3 & 0x1ff,
        }
    }

    /// As 16 bytes.
    #[inline(always)]
    pub fn packet(self) -> Packet {
        let [a, b, c, d] = self.words();
        [u64::from(a) | u64::from(b) << 32, u64::from(c) | u64::from(d) << 32]
    }

    /// From [`packet`](Self::packet).
    #[inline(always)]
    pub fn from_packet([low, high]: Packet) -> Self {
        Self::from_words([low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32])
    }
}
