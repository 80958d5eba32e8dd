//! Pairs of sparse nodes that are not large, merged by a warp: of each entry, how many of the other node come before it.

use evenpath_simt::{thread, warp, Arena, Element, Shared};

use super::{Pair, Part, Place, Side, Sink};
use crate::block::count_scan;
use crate::hisparse::layout;

/// Entries of a node for a warp, of a block of so many threads: no fewer than a node has rows, and so few that blocks take
/// no more than 32 KB.
const fn limit(block_size: u32) -> u32 {
    if block_size > 256 {
        256
    } else {
        512
    }
}

/// A key has coordinates in the sum in its upper half. In its lower half keys of B have their slot; those of A, whose slot is
/// their place, have one more than the slot of the entry of B with the same coordinates, or 0.
const SHIFT: u32 = 16;
const SLOT: u32 = 0xffff;

/// Bytes of shared memory of a block.
pub(super) const fn bytes(block_size: u32) -> u32 {
    block_size / thread::WARP_SIZE * 2 * limit(block_size) * 4
}

/// Whether this is a node for a warp.
#[inline(always)]
pub(super) fn takes(part: Part, block_size: u32) -> bool {
    part.len <= limit(block_size)
        && (part.reference == layout::NULL || layout::kind(part.reference) != layout::DENSE)
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
        let len = limit(block_size) as usize;
        let own = all.skip(thread::warp() as usize * 2 * len);
        Self { a: own, b: own.skip(len) }
    }

    /// Entries of the union.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn count<T: Element>(self, a: Side<T>, b: Side<T>, pair: Pair) -> u32 {
        if pair.a.len == 0 || pair.b.len == 0 {
            return pair.a.len + pair.b.len;
        }
        // In whatever order B is.
        stage(a, pair.a, self.a);
        stage(b, pair.b, self.b);
        warp::sync(warp::FULL);
        let mut new = 0;
        let mut at = thread::lane();
        while at < pair.b.len {
            let key = self.b.load(at as usize);
            new += u32::from(!self.in_a(pair, key, before(self.a, pair.a.len, key)));
            at += thread::WARP_SIZE;
        }
        // The next pair's keys come to the same place.
        warp::sync(warp::FULL);
        pair.a.len + warp::reduce_add(new)
    }

    /// Hands all entries on.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn merge<T: Element>(self, a: Side<T>, b: Side<T>, pair: Pair, sink: &impl Sink) {
        if b.is_transposed {
            // Nothing of A is there yet.
            stage_turned(b, pair.b, self.b, self.a);
        } else {
            stage(b, pair.b, self.b);
        }
        let mut at = thread::lane();
        let node = a.node(pair.a);
        while at < pair.a.len {
            self.a.store(at as usize, u32::from(node.coordinates.load(at as usize)) << SHIFT);
            at += thread::WARP_SIZE;
        }
        warp::sync(warp::FULL);
        let new = self.hand_on_new(pair, sink);
        let mut at = thread::lane();
        while at < pair.a.len {
            let key = self.a.load(at as usize);
            let partner = key & SLOT;
            let b = if partner == 0 { None } else { Some(partner - 1) };
            sink.put(place(at + before(self.b, new, key), key), Some(at), b);
            at += thread::WARP_SIZE;
        }
        warp::sync(warp::FULL);
    }

    /// Hands the entries of B on that A has not, keeps their keys, and returns their number; tells the others A's keys.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn hand_on_new(self, pair: Pair, sink: &impl Sink) -> u32 {
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
            if is_new {
                sink.put(place(before + own, key), None, Some(key & SLOT));
            }
            warp::sync(warp::FULL);
            if in_a {
                self.a.store(before as usize, (key & !SLOT) | ((key & SLOT) + 1));
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
}

/// Writes the keys of a node, in the order of its slots.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn stage<T: Element>(side: Side<T>, part: Part, keys: Shared<u32>) {
    let node = side.node(part);
    let mut at = thread::lane();
    while at < part.len {
        let coordinates = side.oriented(u32::from(node.coordinates.load(at as usize)));
        keys.store(at as usize, coordinates << SHIFT | at);
        at += thread::WARP_SIZE;
    }
}

/// Writes the keys of a node that is turned in the order of the sum: counts the entries of each row there, then puts 32
/// neighbours at a time behind those of their rows that came before. `rows` has a word for each row of a node.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn stage_turned<T: Element>(side: Side<T>, part: Part, keys: Shared<u32>, rows: Shared<u32>) {
    let lane = thread::lane();
    let node = side.node(part);
    let coordinates = |at: u32| side.oriented(u32::from(node.coordinates.load(at as usize)));
    let of_lane = (1 << side.d_log2) / thread::WARP_SIZE;
    for_each_row(of_lane, |row| rows.store(row, 0));
    warp::sync(warp::FULL);
    let mut at = lane;
    while at < part.len {
        rows.fetch_add((coordinates(at) >> 8) as usize, 1);
        at += thread::WARP_SIZE;
    }
    warp::sync(warp::FULL);
    let mut sum = 0;
    for_each_row(of_lane, |row| sum += rows.load(row));
    let mut before = count_scan::warp_inclusive(sum) - sum;
    for_each_row(of_lane, |row| {
        let count = rows.load(row);
        rows.store(row, before);
        before += count;
    });
    warp::sync(warp::FULL);
    let mut base = 0;
    while base < part.len {
        let at = base + lane;
        let is_entry = at < part.len;
        // Lanes without an entry share a row that there is not.
        let key = if is_entry { coordinates(at) } else { SLOT + 1 };
        let peers = warp::match_any(warp::FULL, key >> 8);
        let row = (key >> 8) as usize;
        let first = if is_entry { rows.load(row) } else { 0 };
        warp::sync(warp::FULL);
        let earlier = (peers & ((1 << lane) - 1)).count_ones();
        if is_entry {
            keys.store((first + earlier) as usize, key << SHIFT | at);
            if earlier == 0 {
                rows.store(row, first + peers.count_ones());
            }
        }
        warp::sync(warp::FULL);
        base += thread::WARP_SIZE;
    }
}

/// Calls `visit` with each of a lane's rows, neighbours.
#[inline(always)]
fn for_each_row(of_lane: u32, mut visit: impl FnMut(usize)) {
    let mut row = 0;
    while row < of_lane {
        visit((thread::lane() * of_lane + row) as usize);
        row += 1;
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
fn place(rank: u32, key: u32) -> Place {
    Place { rank, coordinates: key >> SHIFT }
}
