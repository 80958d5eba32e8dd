//! The columns of nonzeros, in the forms in which a warp loads them.

use evenpath_simt::{device, Aligned16, Global};

/// The columns of nonzeros, in some form. No load is used before all are issued, so loads return words, from which columns
/// are computed later.
pub trait ColumnForm: Copy {
    /// Nonzeros per word: 1 or 2.
    const PER_WORD: usize;

    /// Returns the columns starting at nonzero `start`, which is a multiple of eight unless loads are exact.
    #[must_use]
    fn skip(self, start: usize) -> Self;
    /// Loads the word of nonzero `first` + `distance`; `distance` is a multiple of [`PER_WORD`](Self::PER_WORD).
    fn load(self, first: usize, distance: usize) -> u32;
    /// Loads the words of the four nonzeros starting at `first` + `distance`. Words that they do not need are zero.
    fn load_four(self, first: usize, distance: usize) -> [u32; 4];

    /// Loads every 32nd nonzero, starting at `first`, if it is wanted.
    #[device]
    fn load_strided<const ITEMS: usize>(
        self,
        first: usize,
        is_wanted: impl Fn(usize) -> bool,
    ) -> [u32; ITEMS] {
        let mut words = [0; ITEMS];
        for item in 0..ITEMS {
            if is_wanted(item) {
                words[item] = self.load(first, 32 * item);
            }
        }
        words
    }

    /// Returns the column of nonzero `item` that [`load_strided`](Self::load_strided) loaded. All lanes of the warp call it
    /// together.
    fn strided<const ITEMS: usize>(self, words: [u32; ITEMS], first: usize, item: usize) -> u32;

    /// Loads four nonzeros of every 128, starting at `first`, which is a multiple of four, if these four are wanted.
    #[device]
    fn load_fours<const ITEMS: usize>(self, first: usize, is_wanted: impl Fn(usize) -> bool) -> [u32; ITEMS] {
        let mut words = [0; ITEMS];
        for index in 0..ITEMS / 4 {
            if is_wanted(index) {
                let four = self.load_four(first, 128 * index);
                for item in 0..4 {
                    words[4 * index + item] = four[item];
                }
            }
        }
        words
    }

    /// Loads the same nonzeros word by word, if the place of a word's first nonzero is wanted: for the last four of the matrix.
    #[device]
    fn load_singles<const ITEMS: usize>(
        self,
        first: usize,
        is_wanted: impl Fn(usize) -> bool,
    ) -> [u32; ITEMS] {
        let mut words = [0; ITEMS];
        let of_four = 4 / Self::PER_WORD;
        for word in 0..ITEMS / Self::PER_WORD {
            let (four, index) = (word / of_four, word % of_four);
            let distance = 128 * four + Self::PER_WORD * index;
            if is_wanted(first + distance) {
                words[4 * four + index] = self.load(first, distance);
            }
        }
        words
    }

    /// Returns the column of nonzero `item` that was loaded in fours or singly. All lanes of the warp call it together.
    fn of_four<const ITEMS: usize>(self, words: [u32; ITEMS], item: usize) -> u32;
}

/// Returns the distance of nonzero `item` from the first, of those that are loaded in fours.
#[device]
pub(super) const fn place_of_four(item: usize) -> usize {
    128 * (item / 4) + item % 4
}

impl ColumnForm for Global<u32, Aligned16> {
    const PER_WORD: usize = 1;

    #[device(track_caller)]
    fn skip(self, start: usize) -> Self {
        self.skip_aligned(start)
    }

    #[device]
    fn load(self, first: usize, distance: usize) -> u32 {
        self.load_streaming(first + distance)
    }

    #[device]
    fn load_four(self, first: usize, distance: usize) -> [u32; 4] {
        self.load_streaming_4(first + distance)
    }

    #[device]
    fn strided<const ITEMS: usize>(self, words: [u32; ITEMS], _: usize, item: usize) -> u32 {
        words[item]
    }

    #[device]
    fn of_four<const ITEMS: usize>(self, words: [u32; ITEMS], item: usize) -> u32 {
        words[item]
    }
}
