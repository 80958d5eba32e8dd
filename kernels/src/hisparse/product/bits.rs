use evenpath_simt::{device, thread, Arena, Shared};

/// Words of a leaf's bitmap.
pub(super) const fn leaf_words(d_log2: u32) -> u32 {
    1 << (2 * d_log2 - 5)
}

/// Entries of a leaf as bits, row by row.
#[derive(Clone, Copy)]
pub(super) struct LeafBits {
    words: Shared<u32>,
    d_log2: u32,
}

impl LeafBits {
    #[device(track_caller)]
    pub(super) fn take(arena: &mut Arena, d_log2: u32) -> Self {
        Self { words: arena.take(leaf_words(d_log2) as usize), d_log2 }
    }

    /// Clears this thread's share of the words.
    #[device(track_caller)]
    pub(super) fn clear<const BLOCK: usize>(self) {
        thread::block_stride::<BLOCK>(leaf_words(self.d_log2), |word| self.words.store(word as usize, 0));
    }

    #[device(track_caller)]
    pub(super) fn mark(self, row: u32, col: u32) {
        self.merge(self.place(row, col), 1 << (col % 32));
    }

    /// Sets bits of a word.
    #[device(track_caller)]
    pub(super) fn merge(self, word: u32, bits: u32) {
        self.words.fetch_or(word as usize, bits);
    }

    /// Stores a word that no other thread writes.
    #[device(track_caller)]
    pub(super) fn store(self, word: u32, bits: u32) {
        self.words.store(word as usize, bits);
    }

    #[device(track_caller)]
    pub(super) fn load(self, word: u32) -> u32 {
        self.words.load(word as usize)
    }

    /// Returns the word with the bit of a position.
    #[device]
    pub(super) fn place(self, row: u32, col: u32) -> u32 {
        (row << self.d_log2 | col) / 32
    }

    /// Words of a row.
    #[device]
    pub(super) fn row_words(self) -> u32 {
        1 << (self.d_log2 - 5)
    }
}
