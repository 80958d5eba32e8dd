//! Marked places of a tile, one bit per place, and the number of marks up to each.

use evenpath_simt::{device, thread, Arena, Shared};

use super::count_scan::CountScan;

/// The marks of `BLOCK` × `ITEMS` places. In a warp-striped tile (see [`radix_rank`](super::radix_rank)) word `i` of a
/// warp has the marks of its lanes' items `i`, so that a load of it is a broadcast.
#[derive(Debug, Clone, Copy)]
pub struct NumberedBits<const BLOCK: usize, const ITEMS: usize> {
    words: Shared<u32>,
    /// Marks before each word.
    before: Shared<u32>,
}

impl<const BLOCK: usize, const ITEMS: usize> NumberedBits<BLOCK, ITEMS> {
    const WORDS: usize = BLOCK * ITEMS / thread::WARP_SIZE as usize;

    /// Bytes of shared memory that [`take`](Self::take) takes.
    pub const BYTES: usize = 2 * Self::WORDS * 4;

    /// Takes the marks' memory from an arena.
    #[device]
    pub fn take(arena: &mut Arena) -> Self {
        const { assert!(Self::WORDS <= BLOCK, "a thread has a word at most") };
        Self { words: arena.take(Self::WORDS), before: arena.take(Self::WORDS) }
    }

    /// Clears all marks: for every thread, before a barrier and the first [`set`](Self::set).
    #[device(track_caller)]
    pub fn clear(self) {
        let word = thread::index() as usize;
        if word < Self::WORDS {
            self.words.store(word, 0);
        }
    }

    /// Marks a place that has no mark yet.
    #[device(track_caller)]
    pub fn set(self, place: u32) {
        self.words.fetch_add((place / thread::WARP_SIZE) as usize, 1 << (place % thread::WARP_SIZE));
    }

    /// Sets the marks of one item of a warp's lanes, which are a ballot's, instead of [`clear`](Self::clear) and
    /// [`set`](Self::set).
    #[device(track_caller)]
    pub fn set_word(self, item: usize, marks: u32) {
        if thread::lane() == 0 {
            self.words.store(thread::warp() as usize * ITEMS + item, marks);
        }
    }

    /// Numbers the marks, and returns their number. Every thread calls it. It has three barriers, the first of them
    /// before anything is read.
    #[device(track_caller)]
    pub fn number(self, scan: CountScan<u32, BLOCK>) -> u32 {
        thread::barrier();
        let word = thread::index() as usize;
        let has_word = word < Self::WORDS;
        let count = if has_word { self.words.load(word).count_ones() } else { 0 };
        let counted = scan.exclusive(count);
        if has_word {
            self.before.store(word, counted.before);
        }
        thread::barrier();
        counted.total
    }

    /// Marks up to a place and on it, once they are numbered.
    #[device(track_caller)]
    #[must_use]
    pub fn count_to(self, place: u32) -> u32 {
        let word = (place / thread::WARP_SIZE) as usize;
        let up_to = u32::MAX >> (thread::WARP_SIZE - 1 - place % thread::WARP_SIZE);
        self.before.load(word) + (self.words.load(word) & up_to).count_ones()
    }

    /// Returns the last marked place up to `place` and on it. There is one.
    #[device(track_caller)]
    #[must_use]
    pub fn last_to(self, place: u32) -> u32 {
        let mut word = place / thread::WARP_SIZE;
        let up_to = u32::MAX >> (thread::WARP_SIZE - 1 - place % thread::WARP_SIZE);
        let mut marks = self.words.load(word as usize) & up_to;
        while marks == 0 {
            word -= 1;
            marks = self.words.load(word as usize);
        }
        word * thread::WARP_SIZE + (u32::BITS - 1 - marks.leading_zeros())
    }

    /// Returns the first marked place after `place`, or `end`, past which nothing is marked.
    #[device(track_caller)]
    #[must_use]
    pub fn next_after(self, place: u32, end: u32) -> u32 {
        let mut word = place / thread::WARP_SIZE;
        let after = !(u32::MAX >> (thread::WARP_SIZE - 1 - place % thread::WARP_SIZE));
        let mut marks = self.words.load(word as usize) & after;
        while marks == 0 {
            word += 1;
            if word * thread::WARP_SIZE >= end {
                return end;
            }
            marks = self.words.load(word as usize);
        }
        word * thread::WARP_SIZE + marks.trailing_zeros()
    }

    /// Returns whether any marked place is more than `most` before the next one, or before `end`. `most` is not below
    /// the lanes of a warp. Every thread calls it after a barrier behind the marks; it has one barrier, as a scan does.
    #[device(track_caller)]
    #[must_use]
    pub fn has_gap_above(self, most: u32, end: u32, scan: CountScan<u32, BLOCK>) -> bool {
        let word = thread::index() as usize;
        let mut is_above = false;
        if word < Self::WORDS {
            let marks = self.words.load(word);
            if marks != 0 {
                // Only the last mark of a word can be that far from the next.
                let last = (word + 1) as u32 * thread::WARP_SIZE - 1 - marks.leading_zeros();
                is_above = self.next_after(last, end) - last > most;
            }
        }
        scan.exclusive(u32::from(is_above)).total > 0
    }
}
