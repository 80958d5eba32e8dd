//! Pairs with a large or dense node, merged by a block: bitmaps of both nodes' entries, in the order of the sum.
// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{thread, Arena, Element, Shared};

use super::{Pair, Part, Place, Side, Sink};
use crate::block::count_scan::CountScan;
use crate::hisparse::layout;

/// Words of a bitmap.
const fn words(d_log2: u32) -> u32 {
    1 << (2 * d_log2 - 5)
}

/// Bytes of shared memory of a block.
pub(super) const fn bytes(d_log2: u32) -> u32 {
    3 * 4 * words(d_log2)
}

/// The bitmaps of a pair, and how many entries of the union come before each word.
#[derive(Clone, Copy)]
pub(super) struct Bitmaps<const BLOCK: usize> {
    a: Shared<u32>,
    b: Shared<u32>,
    before: Shared<u32>,
    scan: CountScan<u32, BLOCK>,
    d_log2: u32,
}

impl<const BLOCK: usize> Bitmaps<BLOCK> {
    /// In an arena of [`bytes`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn take(mut arena: Arena, scan: CountScan<u32, BLOCK>, d_log2: u32) -> Self {
        let words = words(d_log2) as usize;
        Self { a: arena.take(words), b: arena.take(words), before: arena.take(words), scan, d_log2 }
    }

    /// Marks the entries of both, and counts those of the union. There is a barrier before the bitmaps are written, and
    /// one behind.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn count<T: Element>(self, a: Side<T>, b: Side<T>, pair: Pair) -> u32 {
        let words = words(self.d_log2);
        thread::barrier();
        let mut word = thread::index();
        while word < words {
            self.a.store(word as usize, 0);
            self.b.store(word as usize, 0);
            word += BLOCK as u32;
        }
        thread::barrier();
        for_each_entry::<T, BLOCK>(a, pair.a, |coordinates, _| self.mark(self.a, coordinates));
        for_each_entry::<T, BLOCK>(b, pair.b, |coordinates, _| self.mark(self.b, coordinates));
        thread::barrier();
        let share = words.div_ceil(BLOCK as u32);
        let (first, end) = (thread::index() * share, ((thread::index() + 1) * share).min(words));
        let mut count = 0;
        let mut word = first;
        while word < end {
            count += self.union(word).count_ones();
            word += 1;
        }
        let counted = self.scan.exclusive(count);
        let mut before = counted.before;
        let mut word = first;
        while word < end {
            self.before.store(word as usize, before);
            before += self.union(word).count_ones();
            word += 1;
        }
        thread::barrier();
        counted.total
    }

    /// Hands all entries on.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn merge<T: Element>(self, a: Side<T>, b: Side<T>, pair: Pair, sink: &impl Sink) {
        self.count(a, b, pair);
        for_each_entry::<T, BLOCK>(b, pair.b, |coordinates, slot| {
            sink.put(self.find(coordinates), None, Some(slot));
        });
        thread::barrier();
        for_each_entry::<T, BLOCK>(a, pair.a, |coordinates, slot| {
            let place = self.find(coordinates);
            if self.has(self.b, coordinates) {
                sink.join(place, slot);
            } else {
                sink.put(place, Some(slot), None);
            }
        });
    }

    #[inline(always)]
    fn place(self, coordinates: u32) -> u32 {
        let (row, col) = layout::unpack(coordinates);
        row << self.d_log2 | col
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn mark(self, bits: Shared<u32>, coordinates: u32) {
        let place = self.place(coordinates);
        bits.fetch_or((place / 32) as usize, 1 << (place % 32));
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn union(self, word: u32) -> u32 {
        self.a.load(word as usize) | self.b.load(word as usize)
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn has(self, bits: Shared<u32>, coordinates: u32) -> bool {
        let place = self.place(coordinates);
        bits.load((place / 32) as usize) >> (place % 32) & 1 != 0
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn find(self, coordinates: u32) -> Place {
        let place = self.place(coordinates);
        let (word, below) = (place / 32, (1 << (place % 32)) - 1);
        let rank = self.before.load(word as usize) + (self.union(word) & below).count_ones();
        Place { rank, coordinates }
    }
}

/// Slots of a thread that are on their way at once.
const BATCH: usize = 4;

/// Calls `visit` with coordinates in the sum and slot of each entry, in the block's threads.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn for_each_entry<T: Element, const BLOCK: usize>(side: Side<T>, part: Part, visit: impl Fn(u32, u32)) {
    let node = side.node(part);
    let is_dense = layout::kind(part.reference) == layout::DENSE;
    let mut first = thread::index();
    while first < part.len {
        let mut coordinates = [0; BATCH];
        let mut is_entry = [false; BATCH];
        for item in 0..BATCH {
            let slot = first + (item * BLOCK) as u32;
            let is_slot = slot < part.len;
            if is_dense {
                is_entry[item] = node.slots.load_if(slot as usize, is_slot).to_bits() != 0;
                coordinates[item] = layout::pack(slot >> side.d_log2, slot & ((1 << side.d_log2) - 1));
            } else {
                is_entry[item] = is_slot;
                coordinates[item] = u32::from(node.coordinates.load_if(slot as usize, is_slot));
            }
        }
        for item in 0..BATCH {
            if is_entry[item] {
                visit(side.oriented(coordinates[item]), first + (item * BLOCK) as u32);
            }
        }
        first += (BATCH * BLOCK) as u32;
    }
}
