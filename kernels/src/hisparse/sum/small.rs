//! Pairs of sparse nodes that are not large, merged by a warp, which counts the entries of the other node before each
//! entry.
use evenpath_simt::{device, thread, warp, Arena, Shared, Word};

use super::side::{NodeHandle, NodePair, SumTree};
use super::sink::{Sink, SumPlace};
use crate::block::search::partition_point;
use crate::hisparse::node::Node;

/// Returns the largest number of entries of a node that a warp merges, in a block of `block_size` threads: at least a
/// node's rows, and few enough that a block needs at most 36 KB.
const fn limit(block_size: u32) -> u32 {
    if block_size > 256 {
        256
    } else {
        512
    }
}

/// A key has coordinates in the sum in its upper half. The lower half of a key of B is its slot. A key of A has its index as
/// slot; its lower half is 0, or one more than the slot of the entry of B with the same coordinates.
const SHIFT: u32 = 16;
const SLOT: u32 = 0xffff;

/// The largest number of rows of a node.
const MAX_ROWS: u32 = 256;

/// Words of shared memory of a warp.
pub(super) const fn words(block_size: u32) -> u32 {
    2 * limit(block_size) + MAX_ROWS
}

/// Bytes of shared memory of a block.
pub(super) const fn bytes(block_size: u32) -> u32 {
    block_size / thread::WARP_SIZE * words(block_size) * 4
}

/// Returns whether a warp merges this node.
#[device]
pub(super) fn takes(handle: NodeHandle, block_size: u32) -> bool {
    handle.len <= limit(block_size) && !handle.is_dense()
}

/// The keys of a pair, in a warp's shared memory.
#[derive(Clone, Copy)]
pub(super) struct PairKeys {
    a: Shared<u32>,
    b: Shared<u32>,
    /// A word per row of a transposed node.
    rows: Shared<u32>,
}

impl PairKeys {
    /// Returns this warp's part of an arena of [`bytes`].
    #[device(track_caller)]
    pub(super) fn take(mut arena: Arena, block_size: u32) -> Self {
        let all: Shared<u32> = arena.take((bytes(block_size) / 4) as usize);
        Self::new(all.skip((thread::warp() * words(block_size)) as usize), block_size)
    }

    /// Uses [`words`] words of this warp.
    #[device(track_caller)]
    pub(super) fn new(own: Shared<u32>, block_size: u32) -> Self {
        let len = limit(block_size) as usize;
        Self { a: own, b: own.skip(len), rows: own.skip(2 * len) }
    }

    /// Passes all entries to the sink.
    #[device(track_caller)]
    pub(super) fn merge<T: Word>(self, a: SumTree<T>, b: SumTree<T>, pair: NodePair, sink: &impl Sink<T>) {
        if b.is_transposed {
            // A's keys are not there yet.
            stage(b, pair.b, self.a, true);
            warp::sync(warp::FULL);
            sort_rows(self.a, pair.b.len, self.b, self.rows, b.d_log2);
        } else {
            stage(b, pair.b, self.b, true);
        }
        stage(a, pair.a, self.a, false);
        warp::sync(warp::FULL);
        let (node_a, node_b) = (a.node(pair.a), b.node(pair.b));
        let new = self.hand_on_new(pair, node_b, sink);
        thread::warp_stride(pair.a.len, |at| {
            let key = self.a.load(at as usize);
            let partner = key & SLOT;
            let slot_a = node_a.slots.load(at as usize);
            let slot_b = node_b.slots.load_if((partner as usize).wrapping_sub(1), partner > 0);
            let slot_b = if partner > 0 { Some(slot_b) } else { None };
            sink.put(place(at + before_from(self.b, 0, new, key), key), Some(slot_a), slot_b);
        });
        warp::sync(warp::FULL);
    }

    /// Passes on the entries of B that A lacks, keeps their keys, and returns their number. Records the slots of the others in
    /// A's keys.
    #[device(track_caller)]
    fn hand_on_new<T: Word>(self, pair: NodePair, node_b: Node<T>, sink: &impl Sink<T>) -> u32 {
        let mut new = 0;
        let mut base = 0;
        // The number of keys of A that come before all keys from here on.
        let mut passed = 0;
        while base < pair.b.len {
            let at = base + thread::lane();
            let is_entry = at < pair.b.len;
            let key = if is_entry { self.b.load(at as usize) } else { 0 };
            // No search is needed while both have the same entries, as in equal or symmetric patterns.
            let mut before = passed + thread::lane();
            if !warp::all(warp::FULL, !is_entry || self.in_a(pair, key, before)) {
                before = before_from(self.a, passed, pair.a.len, key);
            }
            let in_a = is_entry && self.in_a(pair, key, before);
            let last = (pair.b.len - base).min(thread::WARP_SIZE) - 1;
            passed = warp::shuffle(warp::FULL, before + u32::from(in_a), last);
            let is_new = is_entry && !in_a;
            let new_ones = warp::ballot(warp::FULL, is_new);
            let own = new + warp::count_below(new_ones);
            if is_new {
                let slot = node_b.slots.load((key & SLOT) as usize);
                sink.put(place(before + own, key), None, Some(slot));
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

    /// Returns whether A has the coordinates of a key, given that `before` of its keys come before.
    #[device(track_caller)]
    fn in_a(self, pair: NodePair, key: u32, before: u32) -> bool {
        before < pair.a.len && self.a.load(before as usize) >> SHIFT == key >> SHIFT
    }
}

/// Coordinates that a lane has in flight.
const BATCH: usize = 4;

/// Writes the keys of a node in the order of its slots, with their slots if asked for.
#[device(track_caller)]
fn stage<T: Word>(side: SumTree<T>, handle: NodeHandle, keys: Shared<u32>, with_slots: bool) {
    side.each_entry::<BATCH>(handle, |at, coordinates| {
        let slot = if with_slots { at } else { 0 };
        keys.store(at as usize, coordinates << SHIFT | slot);
    });
}

/// Sorts keys by row, stably: counts the keys of each row, then places 32 consecutive keys at a time after the earlier keys of
/// their rows. This brings the keys of a transposed node into the order of the sum. `rows` has a word per row of a node.
#[device(track_caller)]
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
    let mut before = warp::inclusive_sum(sum) - sum;
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
        // Lanes without a key share a row that no key has.
        let row = if is_key { row_of(key) } else { 1 << 8 };
        let peers = warp::match_any(warp::FULL, row);
        let first = if is_key { rows.load(row as usize) } else { 0 };
        warp::sync(warp::FULL);
        let earlier = warp::count_below(peers);
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

/// Calls `visit` with each of a lane's rows, which are consecutive.
#[device]
fn for_each_row(of_lane: u32, mut visit: impl FnMut(usize)) {
    let mut row = 0;
    while row < of_lane {
        visit((thread::lane() * of_lane + row) as usize);
        row += 1;
    }
}

/// Counts those of `len` ascending keys whose coordinates are smaller than those of `key`: at least `passed`.
#[device(track_caller)]
fn before_from(keys: Shared<u32>, passed: u32, len: u32, key: u32) -> u32 {
    partition_point(passed, len, |index| keys.load(index as usize) >> SHIFT < key >> SHIFT)
}

#[device]
fn place(index: u32, key: u32) -> SumPlace {
    SumPlace { index, coordinates: key >> SHIFT }
}
