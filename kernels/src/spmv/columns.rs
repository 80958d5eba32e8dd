//! The columns of nonzeros, in the forms in which a warp loads them.

use evenpath_simt::{device, Aligned16, Global};

/// The columns of nonzeros, in some form. What is loaded is not used before all loads are issued, so loads return words,
/// from which columns are computed later.
pub trait Columns: Copy {
    /// The columns from nonzero `start` on, which is a multiple of eight unless loads are exact.
    #[must_use]
    fn skip(self, start: usize) -> Self;
    /// Loads every 32nd nonzero from `first` on, those for which `is_wanted`.
    fn load_strided<const ITEMS: usize>(
        self,
        first: usize,
        is_wanted: impl Fn(usize) -> bool,
    ) -> [u32; ITEMS];
    /// The column of nonzero `item` of those. All lanes of the warp call it together.
    fn strided<const ITEMS: usize>(self, words: [u32; ITEMS], first: usize, item: usize) -> u32;
    /// Loads four nonzeros of every 128 from `first` on, a multiple of four: those fours for which `is_wanted`.
    fn load_fours<const ITEMS: usize>(self, first: usize, is_wanted: impl Fn(usize) -> bool) -> [u32; ITEMS];
    /// The same, but only the nonzeros at places for which `is_wanted`: for the last four of the matrix.
    fn load_singles<const ITEMS: usize>(
        self,
        first: usize,
        is_wanted: impl Fn(usize) -> bool,
    ) -> [u32; ITEMS];
    /// The column of nonzero `item` of those. All lanes of the warp call it together.
    fn of_four<const ITEMS: usize>(self, words: [u32; ITEMS], item: usize) -> u32;
}

/// The place of nonzero `item` after the first, of those that are loaded in fours.
#[device]
pub(super) const fn place_of_four(item: usize) -> usize {
    128 * (item / 4) + item % 4
}

impl Columns for Global<u32, Aligned16> {
    #[device(track_caller)]
    fn skip(self, start: usize) -> Self {
        self.skip_aligned(start)
    }

    #[device]
    fn load_strided<const ITEMS: usize>(
        self,
        first: usize,
        is_wanted: impl Fn(usize) -> bool,
    ) -> [u32; ITEMS] {
        let mut words = [0; ITEMS];
        for item in 0..ITEMS {
            if is_wanted(item) {
                words[item] = self.load_streaming(first + 32 * item);
            }
        }
        words
    }

    #[device]
    fn strided<const ITEMS: usize>(self, words: [u32; ITEMS], _: usize, item: usize) -> u32 {
        words[item]
    }

    #[device]
    fn load_fours<const ITEMS: usize>(self, first: usize, is_wanted: impl Fn(usize) -> bool) -> [u32; ITEMS] {
        let mut words = [0; ITEMS];
        for index in 0..ITEMS / 4 {
            if is_wanted(index) {
                let four = self.load_streaming_4(first + 128 * index);
                for item in 0..4 {
                    words[4 * index + item] = four[item];
                }
            }
        }
        words
    }

    #[device]
    fn load_singles<const ITEMS: usize>(
        self,
        first: usize,
        is_wanted: impl Fn(usize) -> bool,
    ) -> [u32; ITEMS] {
        let mut words = [0; ITEMS];
        for item in 0..ITEMS {
            let place = first + place_of_four(item);
            if is_wanted(place) {
                words[item] = self.load_streaming(place);
            }
        }
        words
    }

    #[device]
    fn of_four<const ITEMS: usize>(self, words: [u32; ITEMS], item: usize) -> u32 {
        words[item]
    }
}
