//! Pairs of sparse nodes that are not large, merged by a warp: each lane walks an equal share of the merge path of their
//! coordinates (Green, McColl and Bader, *GPU Merge Path*, 2012, section 3), an entry of both being a step of one lane.
// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{thread, warp, Arena, Element, Shared};

use super::{Pair, Part, Place, Side, Sink};
use crate::block::count_scan;

/// Entries of a node for a warp, of a block of so many threads: no fewer than a node has rows, and so few that blocks take
/// no more than 48 KB.
const fn limit(block_size: u32) -> u32 {
    if block_size > 256 {
        256
    } else {
        512
    }
}

/// Steps of a lane on a tile of the merge path. An odd number: lanes then begin in different banks of shared memory.
const fn steps(block_size: u32) -> u32 {
    limit(block_size) / thread::WARP_SIZE - 1
}

/// A key has coordinates in the sum in its upper half, and its slot in the lower one.
const SHIFT: u32 = 16;
const SLOT: u32 = 0xffff;

/// Bytes of shared memory of a block.
pub(super) const fn bytes(block_size: u32) -> u32 {
    block_size / thread::WARP_SIZE * 3 * limit(block_size) * 4
}

/// Whether this is a node for a warp.
#[inline(always)]
pub(super) fn takes(part: Part, block_size: u32) -> bool {
    part.len <= limit(block_size) && !part.is_dense()
}

/// A warp's shared memory.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    /// The keys of a pair, ascending.
    a: Shared<u32>,
    b: Shared<u32>,
    /// The union's entries of a tile: in the lower half one more than the place of A's key, in the upper one that of B's;
    /// 0 where there is none.
    list: Shared<u32>,
    steps: u32,
}

/// Where on the merge path a lane's share begins: so many keys of A and of B come before.
#[derive(Debug, Clone, Copy)]
struct Start {
    a: u32,
    b: u32,
}

impl Keys {
    /// This warp's part of an arena of [`bytes`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn take(mut arena: Arena, block_size: u32) -> Self {
        let all: Shared<u32> = arena.take((bytes(block_size) / 4) as usize);
        let len = limit(block_size) as usize;
        let own = all.skip(thread::warp() as usize * 3 * len);
        Self { a: own, b: own.skip(len), list: own.skip(2 * len), steps: steps(block_size) }
    }

    /// Hands all entries on.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn merge<T: Element>(self, a: Side<T>, b: Side<T>, pair: Pair, sink: &impl Sink<T>) {
        if b.is_transposed {
            // Nothing of A is there yet, and nothing is listed.
            stage(b, pair.b, self.a);
            warp::sync(warp::FULL);
            sort_rows(self.a, pair.b.len, self.b, self.list, b.d_log2);
        } else {
            stage(b, pair.b, self.b);
        }
        stage(a, pair.a, self.a);
        warp::sync(warp::FULL);
        let last_lane = thread::WARP_SIZE - 1;
        let (mut first, mut rank) = (Start { a: 0, b: 0 }, 0);
        while first.a + first.b < pair.a.len + pair.b.len {
            // The last lane has nothing to do: its start is the tile's end.
            let start = self.start(pair, first, thread::lane() * self.steps);
            let count = self.list_share(start);
            self.hand_on((a, b), pair, rank, count, sink);
            rank += count;
            first = Start {
                a: warp::shuffle(warp::FULL, start.a, last_lane),
                b: warp::shuffle(warp::FULL, start.b, last_lane),
            };
            // The next entries, or the next pair's keys, come to the same place.
            warp::sync(warp::FULL);
        }
    }

    /// The start of the share that begins `diagonal` steps behind `first`, or at the path's end. An entry of B that is A's
    /// too belongs to the share of A's.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn start(self, pair: Pair, first: Start, diagonal: u32) -> Start {
        let (a, b) = (self.a.skip(first.a as usize), self.b.skip(first.b as usize));
        let (a_len, b_len) = (pair.a.len - first.a, pair.b.len - first.b);
        let diagonal = diagonal.min(a_len + b_len);
        let (mut low, mut high) = (diagonal.saturating_sub(b_len), diagonal.min(a_len));
        while low < high {
            let middle = (low + high) >> 1;
            let is_before = a.load(middle as usize) >> SHIFT <= b.load((diagonal - 1 - middle) as usize) >> SHIFT;
            low = if is_before { middle + 1 } else { low };
            high = if is_before { high } else { middle };
        }
        let mut start = Start { a: first.a + low, b: first.b + diagonal - low };
        if start.a > 0 && start.b < pair.b.len {
            let (last, next) = (self.a.load(start.a as usize - 1), self.b.load(start.b as usize));
            start.b += u32::from(last >> SHIFT == next >> SHIFT);
        }
        start
    }

    /// Walks the lanes' shares, and lists the tile's entries; their number.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn list_share(self, start: Start) -> u32 {
        let end = Start {
            a: warp::shuffle_down(warp::FULL, start.a, 1),
            b: warp::shuffle_down(warp::FULL, start.b, 1),
        };
        // Of the last lane both are its own.
        let Start { mut a, mut b } = start;
        // A bit a step: whether the entry is one of A, and of B.
        let (mut of_a, mut of_b, mut count) = (0_u32, 0_u32, 0);
        while a < end.a || b < end.b {
            let key_a = if a < end.a { self.a.load(a as usize) >> SHIFT } else { SLOT + 1 };
            let key_b = if b < end.b { self.b.load(b as usize) >> SHIFT } else { SLOT + 1 };
            let (is_of_a, is_of_b) = (u32::from(key_a <= key_b), u32::from(key_b <= key_a));
            of_a |= is_of_a << count;
            of_b |= is_of_b << count;
            (a, b, count) = (a + is_of_a, b + is_of_b, count + 1);
        }
        warp::sync(warp::FULL);
        let inclusive = count_scan::warp_inclusive(count);
        let Start { mut a, mut b } = start;
        for step in 0..count {
            let (is_of_a, is_of_b) = (of_a >> step & 1, of_b >> step & 1);
            (a, b) = (a + is_of_a, b + is_of_b);
            let entry = is_of_a * a | (is_of_b * b) << SHIFT;
            self.list.store((inclusive - count + step) as usize, entry);
        }
        warp::sync(warp::FULL);
        warp::shuffle(warp::FULL, inclusive, thread::WARP_SIZE - 1)
    }

    /// Hands the listed entries on, whose numbers are from `rank` on.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn hand_on<T: Element>(
        self,
        sides: (Side<T>, Side<T>),
        pair: Pair,
        rank: u32,
        count: u32,
        sink: &impl Sink<T>,
    ) {
        let (a, b) = (sides.0.node(pair.a), sides.1.node(pair.b));
        let mut first = thread::lane();
        while first < count {
            let mut keys = [0; BATCH];
            let (mut of_a, mut of_b) = ([false; BATCH], [false; BATCH]);
            let (mut slots_a, mut slots_b) = ([T::ZERO; BATCH], [T::ZERO; BATCH]);
            for item in 0..BATCH {
                let at = first + item as u32 * thread::WARP_SIZE;
                let entry = if at < count { self.list.load(at as usize) } else { 0 };
                let (place_a, place_b) = (entry & SLOT, entry >> SHIFT);
                (of_a[item], of_b[item]) = (place_a > 0, place_b > 0);
                let mut slot = 0;
                if of_a[item] {
                    keys[item] = self.a.load(place_a as usize - 1);
                }
                if of_b[item] {
                    keys[item] = self.b.load(place_b as usize - 1);
                    slot = keys[item] & SLOT;
                }
                slots_a[item] = a.slots.load_if((place_a as usize).wrapping_sub(1), of_a[item]);
                slots_b[item] = b.slots.load_if(slot as usize, of_b[item]);
            }
            for item in 0..BATCH {
                let at = first + item as u32 * thread::WARP_SIZE;
                if at < count {
                    let place = Place { rank: rank + at, coordinates: keys[item] >> SHIFT };
                    let slot = |is_there: bool, slot: T| if is_there { Some(slot) } else { None };
                    sink.put(place, slot(of_a[item], slots_a[item]), slot(of_b[item], slots_b[item]));
                }
            }
            first += BATCH as u32 * thread::WARP_SIZE;
        }
    }
}

/// Entries of a lane that are on their way at once.
const BATCH: usize = 4;

/// Coordinates of a lane that are.
const KEYS: usize = 8;

/// Writes the keys of a node, in the order of its slots.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn stage<T: Element>(side: Side<T>, part: Part, keys: Shared<u32>) {
    let node = side.node(part);
    let mut first = thread::lane();
    while first < part.len {
        let mut coordinates = [0; KEYS];
        for item in 0..KEYS {
            let at = first + item as u32 * thread::WARP_SIZE;
            coordinates[item] = u32::from(node.coordinates.load_if(at as usize, at < part.len));
        }
        for item in 0..KEYS {
            let at = first + item as u32 * thread::WARP_SIZE;
            if at < part.len {
                keys.store(at as usize, side.oriented(coordinates[item]) << SHIFT | at);
            }
        }
        first += KEYS as u32 * thread::WARP_SIZE;
    }
}

/// Sorts keys by rows, those of a row staying in their order: counts the keys of each row, then puts 32 neighbours at a time
/// behind those of their rows that came before. So keys of a node that is turned come into the order of the sum. `rows` has
/// a word for each row of a node.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn sort_rows(from: Shared<u32>, len: u32, to: Shared<u32>, rows: Shared<u32>, d_log2: u32) {
    let lane = thread::lane();
    let row_of = |key: u32| key >> (SHIFT + 8);
    let of_lane = (1 << d_log2) / thread::WARP_SIZE;
    for_each_row(of_lane, |row| rows.store(row, 0));
    warp::sync(warp::FULL);
    let mut at = lane;
    while at < len {
        rows.fetch_add(row_of(from.load(at as usize)) as usize, 1);
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
    while base < len {
        let at = base + lane;
        let is_key = at < len;
        let key = if is_key { from.load(at as usize) } else { 0 };
        // Lanes without a key share a row that there is not.
        let row = if is_key { row_of(key) } else { 1 << 8 };
        let peers = warp::match_any(warp::FULL, row);
        let first = if is_key { rows.load(row as usize) } else { 0 };
        warp::sync(warp::FULL);
        let earlier = (peers & ((1 << lane) - 1)).count_ones();
        if is_key {
            to.store((first + earlier) as usize, key);
            if earlier == 0 {
                rows.store(row as usize, first + peers.count_ones());
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
