//! Pairs of small sparse nodes, merged by a warp: of each entry, how many of the other node come before it.

use evenpath_simt::{thread, warp, Arena, Element, Shared};

use super::{Entry, Pair, Part, Side, Sink};
use crate::hisparse::layout;

/// Entries of a small node.
const LIMIT: u32 = 128;
/// Entries of a small node that is turned: each lane has one.
const TURNED_LIMIT: u32 = thread::WARP_SIZE;

/// Bits of a key that hold its slot; above them are coordinates in the sum.
const SLOT: u32 = 0xff;
/// Set in keys of A whose coordinates B has too.
const IN_B: u32 = 0x100;
const SHIFT: u32 = 16;

/// Bytes of shared memory of a block.
pub(super) const fn bytes(block_size: u32) -> u32 {
    block_size / thread::WARP_SIZE * 2 * LIMIT * 4
}

/// Whether this is a node for a warp.
#[inline(always)]
pub(super) fn takes<T>(side: Side<T>, part: Part) -> bool {
    let limit = if side.is_transposed { TURNED_LIMIT } else { LIMIT };
    part.len <= limit && (part.reference == layout::NULL || layout::kind(part.reference) != layout::DENSE)
}

/// The keys of a pair, in a warp's shared memory.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    a: Shared<u32>,
    b: Shared<u32>,
}

impl Keys {
    /// This warp's part of an arena of [`bytes`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn take(mut arena: Arena, block_size: u32) -> Self {
        let all: Shared<u32> = arena.take((bytes(block_size) / 4) as usize);
        let own = all.skip((thread::warp() * 2 * LIMIT) as usize);
        Self { a: own, b: own.skip(LIMIT as usize) }
    }

    /// Entries of the union.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn count<T: Element>(self, a: Side<T>, b: Side<T>, pair: Pair) -> u32 {
        if pair.a.len == 0 || pair.b.len == 0 {
            return pair.a.len + pair.b.len;
        }
        self.stage(a, b, pair);
        let mut new = 0;
        let mut base = 0;
        while base < pair.b.len {
            let at = base + thread::lane();
            let is_new = at < pair.b.len && {
                let key = self.b.load(at as usize);
                !self.in_a(pair, key, before(self.a, pair.a.len, key))
            };
            new += warp::ballot(warp::FULL, is_new).count_ones();
            base += thread::WARP_SIZE;
        }
        // The next pair's keys come to the same place.
        warp::sync(warp::FULL);
        pair.a.len + new
    }

    /// Hands all entries on.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn merge<T: Element>(self, a: Side<T>, b: Side<T>, pair: Pair, sink: &impl Sink) {
        self.stage(a, b, pair);
        let new = self.hand_on_b(pair, sink);
        let mut at = thread::lane();
        while at < pair.a.len {
            let key = self.a.load(at as usize);
            let rank = at + before(self.b, new, key);
            sink.put_a(entry(rank, key), key & IN_B != 0);
            at += thread::WARP_SIZE;
        }
        warp::sync(warp::FULL);
    }

    /// Hands the entries of B on; marks those of A that B has too, and keeps the keys of those that A has not, whose number
    /// it returns.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn hand_on_b(self, pair: Pair, sink: &impl Sink) -> u32 {
        let mut new = 0;
        let mut base = 0;
        while base < pair.b.len {
            let at = base + thread::lane();
            let is_entry = at < pair.b.len;
            let key = if is_entry { self.b.load(at as usize) } else { 0 };
            let before = before(self.a, pair.a.len, key);
            let in_a = is_entry && self.in_a(pair, key, before);
            let is_new = is_entry && !in_a;
            let new_ones = warp::ballot(warp::FULL, is_new);
            let own = new + (new_ones & ((1 << thread::lane()) - 1)).count_ones();
            if is_entry {
                sink.put_b(entry(before + own, key), in_a);
            }
            warp::sync(warp::FULL);
            if in_a {
                self.a.store(before as usize, self.a.load(before as usize) | IN_B);
            }
            if is_new {
                self.b.store(own as usize, key);
            }
            warp::sync(warp::FULL);
            new += new_ones.count_ones();
            base += thread::WARP_SIZE;
        }
        new
    }

    /// Whether A has the coordinates of a key, before which are so many of its own.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn in_a(self, pair: Pair, key: u32, before: u32) -> bool {
        before < pair.a.len && self.a.load(before as usize) >> SHIFT == key >> SHIFT
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn stage<T: Element>(self, a: Side<T>, b: Side<T>, pair: Pair) {
        stage(a, pair.a, self.a);
        stage(b, pair.b, self.b);
        warp::sync(warp::FULL);
    }
}

/// Writes the keys of a node in the order of the sum.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn stage<T: Element>(side: Side<T>, part: Part, keys: Shared<u32>) {
    let node = side.node(part);
    if side.is_transposed {
        let lane = thread::lane();
        let is_entry = lane < part.len;
        let coordinates = u32::from(node.coordinates.load_if(lane as usize, is_entry));
        let key = side.oriented(coordinates) << SHIFT | lane;
        let mut rank = 0;
        let mut other = 0;
        while other < part.len {
            rank += u32::from(warp::shuffle(warp::FULL, key, other) < key);
            other += 1;
        }
        if is_entry {
            keys.store(rank as usize, key);
        }
    } else {
        let mut at = thread::lane();
        while at < part.len {
            keys.store(at as usize, u32::from(node.coordinates.load(at as usize)) << SHIFT | at);
            at += thread::WARP_SIZE;
        }
    }
}

/// How many of `len` ascending keys have lesser coordinates than `key`.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn before(keys: Shared<u32>, len: u32, key: u32) -> u32 {
    let (mut low, mut left) = (0, len);
    while left > 0 {
        let half = left >> 1;
        let is_less = keys.load((low + half) as usize) >> SHIFT < key >> SHIFT;
        low = if is_less { low + half + 1 } else { low };
        left = if is_less { left - half - 1 } else { half };
    }
    low
}

#[inline(always)]
fn entry(rank: u32, key: u32) -> Entry {
    Entry { rank, coordinates: key >> SHIFT, slot: key & SLOT }
}
