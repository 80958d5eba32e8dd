//! Marks of where segments begin.
use evenpath_simt::{device, thread, warp, Aligned16, Arena, Element, Global};

use crate::block::staged::StagedTile;

/// One mark per element.
pub trait SegmentMark: Element {
    /// Returns whether an element begins a segment, by its own mark and the one before.
    fn begins(self, previous: Self) -> bool;
}

/// A flag: not zero at a segment's first element.
impl SegmentMark for u8 {
    #[device]
    fn begins(self, _: Self) -> bool {
        self != 0
    }
}

macro_rules! keys {
    ($($type:ident)*) => {$(
        /// A key: equal within a segment.
        impl SegmentMark for $type {
            #[device]
            fn begins(self, previous: Self) -> bool {
                self != previous
            }
        }
    )*};
}
keys!(u32 u64);

/// The marks of a tile: fetched first, used once they have arrived.
pub(crate) trait Marks {
    /// Starts to load the `len` marks of the tile that begins with element `first`.
    fn fetch(&mut self, first: usize, len: u32);
    /// Processes the fetched marks. Every thread calls it, before the barrier that follows the tile's loads.
    #[device]
    fn settle(&mut self) {}
    /// One bit per element of this thread, set if it begins a segment, once the marks are there. The very first element
    /// begins one with any mark.
    fn heads(&self, first: usize, len: u32) -> u32;
}

/// No marks: no segments.
pub(crate) struct Unmarked;

impl Marks for Unmarked {
    #[device]
    fn fetch(&mut self, _: usize, _: u32) {}
    #[device]
    fn heads(&self, _: usize, _: u32) -> u32 {
        0
    }
}

/// One mark per element, used for heads only: a warp compares the marks of its elements in the order of memory, and each
/// thread gets the bits of its elements from the ballots. Marks never reach shared memory.
pub(crate) struct WarpMarks<K, const ITEMS: usize> {
    marks: Global<K>,
    /// The marks of every 32nd element of the warp, starting at the lane's.
    own: [K; ITEMS],
    /// The mark before the warp's first: lane 0 has it, where there is one.
    previous: K,
    heads: u32,
}

impl<K: SegmentMark, const ITEMS: usize> WarpMarks<K, ITEMS> {
    #[device]
    pub(crate) fn new(marks: Global<K>) -> Self {
        Self { marks, own: [K::ZERO; ITEMS], previous: K::ZERO, heads: 0 }
    }
}

impl<K: SegmentMark, const ITEMS: usize> Marks for WarpMarks<K, ITEMS> {
    #[device(track_caller)]
    fn fetch(&mut self, first: usize, len: u32) {
        let warp_first = thread::warp() * thread::WARP_SIZE * ITEMS as u32;
        let marks = self.marks.skip(first);
        for item in 0..ITEMS {
            let place = warp_first + item as u32 * thread::WARP_SIZE + thread::lane();
            self.own[item] = marks.load_streaming(place.min(len - 1) as usize);
        }
        let before = first + warp_first.min(len) as usize;
        if thread::lane() == 0 && before > 0 {
            self.previous = self.marks.load(before - 1);
        }
    }

    #[device(track_caller)]
    fn settle(&mut self) {
        let lane = thread::lane();
        let mut previous = self.previous;
        // Lane i keeps the heads of the warp's elements 32 i to 32 i + 31.
        let mut word = 0;
        for item in 0..ITEMS {
            let below = warp::shuffle(warp::FULL, self.own[item], (lane + 31) % thread::WARP_SIZE);
            let before = if lane == 0 { previous } else { below };
            let heads = warp::ballot(warp::FULL, self.own[item].begins(before));
            if lane == item as u32 {
                word = heads;
            }
            // Lane 0's is the last of these, which is before its next.
            previous = below;
        }
        let start = lane * ITEMS as u32;
        let low = warp::shuffle(warp::FULL, word, start / 32);
        let high = warp::shuffle(warp::FULL, word, (start + ITEMS as u32 - 1) / 32);
        self.heads = ((u64::from(high) << 32 | u64::from(low)) >> (start % 32)) as u32;
    }

    #[device]
    fn heads(&self, first: usize, len: u32) -> u32 {
        of_elements::<ITEMS>(self.heads, first, len)
    }
}

/// One mark per element, where the marks themselves are needed.
pub(crate) struct ElementMarks<K, const BLOCK: usize, const ITEMS: usize> {
    marks: Global<K, Aligned16>,
    /// The tile's marks.
    staged: StagedTile<K, BLOCK, ITEMS>,
    /// The mark before the tile's first: thread 0 has it, where there is one.
    previous: K,
}

impl<K: SegmentMark, const BLOCK: usize, const ITEMS: usize> ElementMarks<K, BLOCK, ITEMS> {
    /// Takes memory for a tile's marks from an arena that is aligned to 16 bytes, and leaves it so.
    #[device(track_caller)]
    pub(crate) fn new(arena: &mut Arena, marks: Global<K, Aligned16>) -> Self {
        Self { marks, staged: StagedTile::take(arena), previous: K::ZERO }
    }

    /// Returns the memory of the tile's marks.
    #[device]
    pub(crate) fn staged(&self) -> StagedTile<K, BLOCK, ITEMS> {
        self.staged
    }
}

impl<K: SegmentMark, const BLOCK: usize, const ITEMS: usize> Marks for ElementMarks<K, BLOCK, ITEMS> {
    #[device(track_caller)]
    fn fetch(&mut self, first: usize, len: u32) {
        if len == 0 {
            return;
        }
        self.staged.fetch(self.marks.skip_aligned(first), len, K::ZERO);
        if thread::index() == 0 && first > 0 {
            self.previous = self.marks.load(first - 1);
        }
    }

    #[device(track_caller)]
    fn heads(&self, first: usize, len: u32) -> u32 {
        let place = thread::index() * ITEMS as u32;
        let mut previous = self.previous;
        if place > 0 {
            previous = self.staged.elements().load(place as usize - 1);
        }
        let marks = self.staged.own();
        let mut heads = 0;
        for item in 0..ITEMS {
            heads |= u32::from(marks[item].begins(previous)) << item;
            previous = marks[item];
        }
        of_elements::<ITEMS>(heads, first, len)
    }
}

/// One bit per element, 32 per word, the lowest first: set where an element begins a segment.
pub(crate) struct BitMarks<const ITEMS: usize> {
    bits: Global<u32>,
    /// The words that hold this thread's bits.
    words: [u32; 2],
}

impl<const ITEMS: usize> BitMarks<ITEMS> {
    #[device]
    pub(crate) fn new(bits: Global<u32>) -> Self {
        Self { bits, words: [0; 2] }
    }
}

impl<const ITEMS: usize> Marks for BitMarks<ITEMS> {
    #[device(track_caller)]
    fn fetch(&mut self, first: usize, len: u32) {
        let place = thread::index() * ITEMS as u32;
        if place < len {
            let last = first + (place + ITEMS as u32).min(len) as usize - 1;
            self.words = [self.bits.load((first + place as usize) / 32), self.bits.load(last / 32)];
        }
    }

    #[device]
    fn heads(&self, first: usize, len: u32) -> u32 {
        let [low, high] = self.words;
        let shift = (first + thread::index() as usize * ITEMS) % 32;
        // Where both words are one, the upper bits are not this thread's.
        let heads = (u64::from(high) << 32 | u64::from(low)) >> shift;
        of_elements::<ITEMS>(heads as u32, first, len)
    }
}

/// Returns the bits of this thread's elements, with that of the very first element set.
#[device]
fn of_elements<const ITEMS: usize>(heads: u32, first: usize, len: u32) -> u32 {
    const { assert!(ITEMS < 32) };
    let place = thread::index() * ITEMS as u32;
    let own = len.max(place).min(place + ITEMS as u32) - place;
    let head_of_all = u32::from(first == 0 && place == 0);
    (heads | head_of_all) & ((1 << own) - 1)
}
