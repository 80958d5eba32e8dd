//! Pairs of sparse nodes that are not large, by a warp: a bitmap of the union's entries, in the order of the sum. Where an
//! entry is in the sum follows from the marks before it, in whatever order its node has it.
// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{thread, warp, Arena, Element, Shared};

use super::{large, Pair, Part, Place, Side, Sink};
use crate::block::count_scan;
use crate::hisparse::layout;

/// Entries of both nodes of a pair, at most, in a block of so many threads.
const fn limit(block_size: u32) -> u32 {
    if block_size > 256 {
        256
    } else {
        1024
    }
}

/// Words of a group: marks are counted by groups.
const GROUP_WORDS: u32 = 4;

/// Bytes of shared memory of a block's warps, at most.
const MOST_BYTES: u32 = 56 << 10;

const fn if_not_too_many(bytes: u32) -> u32 {
    if bytes > MOST_BYTES {
        0
    } else {
        bytes
    }
}

/// Bytes of shared memory of a block that counts; none where they would be too many.
pub(super) const fn count_bytes(d_log2: u32, block_size: u32) -> u32 {
    if_not_too_many(block_size / thread::WARP_SIZE * 4 * large::words(d_log2))
}

/// Bytes of shared memory of a block that merges; none where they would be too many.
pub(super) const fn merge_bytes(d_log2: u32, block_size: u32) -> u32 {
    let words = large::words(d_log2);
    if_not_too_many(block_size / thread::WARP_SIZE * 4 * (words + words / GROUP_WORDS + limit(block_size)))
}

/// Whether this is a pair for a warp, in a block that has so many bytes for its warps.
#[inline(always)]
pub(super) fn takes(pair: Pair, block_size: u32, bytes: u32) -> bool {
    let are_sparse = !pair.a.is_dense() && !pair.b.is_dense();
    bytes > 0 && are_sparse && pair.a.len + pair.b.len <= limit(block_size)
}

/// A warp's shared memory.
#[derive(Clone, Copy)]
pub(super) struct Marks {
    bits: Shared<u32>,
    /// Marks before each group.
    before: Shared<u32>,
    /// The union's entries: in the lower half one more than the number of A's entry, in the upper one that of B's; 0 where
    /// there is none.
    list: Shared<u32>,
    d_log2: u32,
}

impl Marks {
    /// This warp's part of an arena of [`count_bytes`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn take_to_count(mut arena: Arena, d_log2: u32, block_size: u32) -> Self {
        let all: Shared<u32> = arena.take((count_bytes(d_log2, block_size) / 4) as usize);
        let own = thread::warp() as usize * (all.len() / (block_size / thread::WARP_SIZE) as usize);
        let bits = all.skip(own);
        Self { bits, before: bits, list: bits, d_log2 }
    }

    /// This warp's part of an arena of [`merge_bytes`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn take_to_merge(mut arena: Arena, d_log2: u32, block_size: u32) -> Self {
        let all: Shared<u32> = arena.take((merge_bytes(d_log2, block_size) / 4) as usize);
        let own = thread::warp() as usize * (all.len() / (block_size / thread::WARP_SIZE) as usize);
        let bits = all.skip(own);
        if all.len() == 0 {
            return Self { bits, before: bits, list: bits, d_log2 };
        }
        let words = large::words(d_log2);
        let before = bits.skip(words as usize);
        Self { bits, before, list: before.skip((words / GROUP_WORDS) as usize), d_log2 }
    }

    /// Entries of the union.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn count<T: Element>(self, a: Side<T>, b: Side<T>, pair: Pair) -> u32 {
        if pair.a.len == 0 || pair.b.len == 0 {
            return pair.a.len + pair.b.len;
        }
        self.clear();
        for_each(a, pair.a, |coordinates, _| self.mark(coordinates));
        warp::sync(warp::FULL);
        let mut both = 0;
        for_each(b, pair.b, |coordinates, _| {
            let place = layout::place(coordinates, self.d_log2);
            both += self.bits.load((place / 32) as usize) >> (place % 32) & 1;
        });
        // The next pair's marks come to the same place.
        warp::sync(warp::FULL);
        pair.a.len + pair.b.len - warp::reduce_add(both)
    }

    /// Hands all entries on.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn merge<T: Element>(self, a: Side<T>, b: Side<T>, pair: Pair, sink: &impl Sink<T>) {
        self.clear();
        for_each(a, pair.a, |coordinates, _| self.mark(coordinates));
        for_each(b, pair.b, |coordinates, _| self.mark(coordinates));
        warp::sync(warp::FULL);
        let count = self.number();
        let mut at = thread::lane();
        while at < count {
            self.list.store(at as usize, 0);
            at += thread::WARP_SIZE;
        }
        warp::sync(warp::FULL);
        for_each(a, pair.a, |coordinates, at| {
            self.list.store(self.rank(coordinates) as usize, at + 1);
        });
        warp::sync(warp::FULL);
        for_each(b, pair.b, |coordinates, at| {
            let rank = self.rank(coordinates) as usize;
            self.list.store(rank, self.list.load(rank) | (at + 1) << 16);
        });
        warp::sync(warp::FULL);
        self.hand_on(a, b, pair, count, sink);
        // The next pair's marks come to the same place.
        warp::sync(warp::FULL);
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn clear(self) {
        let mut word = GROUP_WORDS * thread::lane();
        while word < large::words(self.d_log2) {
            self.bits.store_16(word as usize, [0; 2]);
            word += GROUP_WORDS * thread::WARP_SIZE;
        }
        warp::sync(warp::FULL);
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn mark(self, coordinates: u32) {
        let place = layout::place(coordinates, self.d_log2);
        self.bits.fetch_or((place / 32) as usize, 1 << (place % 32));
    }

    /// Counts the marks before each group, and all.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn number(self) -> u32 {
        let groups = large::words(self.d_log2) / GROUP_WORDS;
        let share = groups.div_ceil(thread::WARP_SIZE);
        let (first, end) = (thread::lane() * share, ((thread::lane() + 1) * share).min(groups));
        let marks = |group: u32| {
            let [low, high] = self.bits.load_16((GROUP_WORDS * group) as usize);
            low.count_ones() + high.count_ones()
        };
        let mut count = 0;
        for group in first..end {
            count += marks(group);
        }
        let inclusive = count_scan::warp_inclusive(count);
        let mut before = inclusive - count;
        for group in first..end {
            self.before.store(group as usize, before);
            before += marks(group);
        }
        warp::shuffle(warp::FULL, inclusive, thread::WARP_SIZE - 1)
    }

    /// The number of an entry in the union.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn rank(self, coordinates: u32) -> u32 {
        let place = layout::place(coordinates, self.d_log2);
        let group = place / (32 * GROUP_WORDS);
        let [low, high] = self.bits.load_16((GROUP_WORDS * group) as usize);
        let below = (1_u64 << (place % 64)) - 1;
        let is_high = place & 64 != 0;
        let whole = if is_high { low.count_ones() } else { 0 };
        let cut = if is_high { high } else { low };
        self.before.load(group as usize) + whole + (cut & below).count_ones()
    }

    /// Hands the listed entries on.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn hand_on<T: Element>(self, a: Side<T>, b: Side<T>, pair: Pair, count: u32, sink: &impl Sink<T>) {
        let (node_a, node_b) = (a.node(pair.a), b.node(pair.b));
        let mut first = thread::lane();
        while first < count {
            let (mut of_a, mut of_b) = ([0; BATCH], [0; BATCH]);
            let mut coordinates = [0; BATCH];
            let (mut slots_a, mut slots_b) = ([T::ZERO; BATCH], [T::ZERO; BATCH]);
            for item in 0..BATCH {
                let at = first + item as u32 * thread::WARP_SIZE;
                let entry = if at < count { self.list.load(at as usize) } else { 0 };
                (of_a[item], of_b[item]) = (entry & 0xffff, entry >> 16);
            }
            for item in 0..BATCH {
                let (at_a, at_b) = (of_a[item].wrapping_sub(1), of_b[item].wrapping_sub(1));
                let (is_of_a, is_of_b) = (of_a[item] > 0, of_b[item] > 0);
                slots_a[item] = node_a.slots.load_if(at_a as usize, is_of_a);
                slots_b[item] = node_b.slots.load_if(at_b as usize, is_of_b);
                let in_a = u32::from(node_a.coordinates.load_if(at_a as usize, is_of_a));
                let in_b = u32::from(node_b.coordinates.load_if(at_b as usize, is_of_b && !is_of_a));
                coordinates[item] = if is_of_a { in_a } else { b.oriented(in_b) };
            }
            for item in 0..BATCH {
                let rank = first + item as u32 * thread::WARP_SIZE;
                if rank < count {
                    let slot = |number: u32, slot: T| if number > 0 { Some(slot) } else { None };
                    let (slot_a, slot_b) = (slot(of_a[item], slots_a[item]), slot(of_b[item], slots_b[item]));
                    sink.put(Place { rank, coordinates: coordinates[item] }, slot_a, slot_b);
                }
            }
            first += BATCH as u32 * thread::WARP_SIZE;
        }
    }
}

/// Entries of a lane that are on their way at once.
const BATCH: usize = 4;

/// Coordinates of a lane that are.
const COORDINATES: usize = 4;

/// Calls `visit` with the coordinates in the sum and the number of each entry of a sparse node, in the lanes of a warp.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn for_each<T: Element>(side: Side<T>, part: Part, mut visit: impl FnMut(u32, u32)) {
    let node = side.node(part);
    let mut first = thread::lane();
    while first < part.len {
        let mut coordinates = [0; COORDINATES];
        for item in 0..COORDINATES {
            let at = first + item as u32 * thread::WARP_SIZE;
            coordinates[item] = u32::from(node.coordinates.load_if(at as usize, at < part.len));
        }
        for item in 0..COORDINATES {
            let at = first + item as u32 * thread::WARP_SIZE;
            if at < part.len {
                visit(side.oriented(coordinates[item]), at);
            }
        }
        first += COORDINATES as u32 * thread::WARP_SIZE;
    }
}
