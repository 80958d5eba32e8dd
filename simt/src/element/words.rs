//! The words that hold the bits of an element.

use evenpath_simt_macros::device;

/// Words of 8 bytes that hold the bits of an element: `u64`, or `[u64; 2]` for an element of 16 bytes.
pub trait Words: Copy + core::fmt::Debug {
    /// How many they are.
    const COUNT: usize;
    /// Something of each word: as many `T` as there are words.
    type Each<T: Copy>: Copy;
    /// Makes them of what `word` returns for the index of each.
    fn from_fn(word: impl FnMut(usize) -> u64) -> Self;
    /// Returns the word with an index below [`COUNT`](Self::COUNT).
    fn word(self, index: usize) -> u64;
    /// Returns what `of_word` returns for the index of each word.
    fn each<T: Copy>(of_word: impl FnMut(usize) -> T) -> Self::Each<T>;
    /// Returns that of one word.
    fn of<T: Copy>(each: Self::Each<T>, index: usize) -> T;
}

impl Words for u64 {
    const COUNT: usize = 1;
    type Each<T: Copy> = T;
    #[device(track_caller)]
    fn from_fn(mut word: impl FnMut(usize) -> u64) -> Self {
        word(0)
    }
    #[device]
    fn word(self, _: usize) -> u64 {
        self
    }
    #[device(track_caller)]
    fn each<T: Copy>(mut of_word: impl FnMut(usize) -> T) -> T {
        of_word(0)
    }
    #[device]
    fn of<T: Copy>(each: T, _: usize) -> T {
        each
    }
}

impl Words for [u64; 2] {
    const COUNT: usize = 2;
    type Each<T: Copy> = [T; 2];
    #[device(track_caller)]
    fn from_fn(mut word: impl FnMut(usize) -> u64) -> Self {
        [word(0), word(1)]
    }
    #[device]
    fn word(self, index: usize) -> u64 {
        self[index]
    }
    #[device(track_caller)]
    fn each<T: Copy>(mut of_word: impl FnMut(usize) -> T) -> [T; 2] {
        [of_word(0), of_word(1)]
    }
    #[device]
    fn of<T: Copy>(each: [T; 2], index: usize) -> T {
        each[index]
    }
}
