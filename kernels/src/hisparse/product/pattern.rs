//! The pattern of a leaf of C.

use evenpath_simt::{device, thread, Arena, Word};

use super::bits::{leaf_words, LeafBits};
use super::leaf_pairs::LeafPairs;

/// Bytes of shared memory that [`HiSparseCountProducts`](super::HiSparseCountProducts) is launched with.
pub const fn pattern_shared_bytes(d_log2: u32) -> u32 {
    2 * 4 * leaf_words(d_log2)
}

/// The entries of a leaf of C, found from those of its pairs.
#[derive(Clone, Copy)]
pub(super) struct LeafPattern {
    pub(super) c: LeafBits,
    /// A leaf of B.
    b: LeafBits,
}

impl LeafPattern {
    /// Takes [`pattern_shared_bytes`] from the arena.
    #[device(track_caller)]
    pub(super) fn take(arena: &mut Arena, d_log2: u32) -> Self {
        Self { c: LeafBits::take(arena, d_log2), b: LeafBits::take(arena, d_log2) }
    }

    /// Marks the entries of the sum of the products of pairs `first..end`. It ends with a barrier.
    #[device(track_caller)]
    pub(super) fn find<T: Word, const BLOCK: usize>(self, pairs: LeafPairs<T>, first: u32, end: u32) {
        let (a, b) = pairs.factors();
        self.c.clear::<BLOCK>();
        let mut pair = first;
        while pair < end {
            let references = pairs.words.load(pair as usize);
            self.b.clear::<BLOCK>();
            thread::barrier();
            b.for_each_entry::<BLOCK>((references >> 32) as u32, |row, col| self.b.mark(row, col));
            thread::barrier();
            a.for_each_entry::<BLOCK>(references as u32, |row, inner| self.add_row(row, inner));
            thread::barrier();
            pair += 1;
        }
    }

    /// Marks a row of B's leaf in a row of C's.
    #[device(track_caller)]
    fn add_row(self, row: u32, inner: u32) {
        let (from, to) = (self.b.place(inner, 0), self.c.place(row, 0));
        let mut word = 0;
        while word < self.c.row_words() {
            let bits = self.b.load(from + word);
            if bits != 0 {
                self.c.merge(to + word, bits);
            }
            word += 1;
        }
    }
}
