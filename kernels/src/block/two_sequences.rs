//! A tile of two sequences in shared memory: what merges and set operations work on.
use core::marker::PhantomData;

use evenpath_simt::{device, parameters, thread, Aligned16, Arena, Element, Global, Packet, Shared};

use super::balanced_path::PathCut;
use crate::key::packet_of;
use crate::unroll::unroll;

parameters! {
    /// Two sequences in global memory.
    pub struct Sequences<T: Element> {
        /// The first, `a_len` elements.
        pub a: Global<T, Aligned16>,
        /// The second, `b_len` elements.
        pub b: Global<T, Aligned16>,
        /// Elements of A.
        pub a_len: u64,
        /// Elements of B.
        pub b_len: u64,
    }
}

impl<T: Element> Sequences<T> {
    /// Elements of both.
    #[device]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(self) -> u64 {
        self.a_len + self.b_len
    }
}

/// A tile's share of two sequences A and B.
#[derive(Debug, Clone, Copy)]
pub struct TilePair {
    a_first: usize,
    b_first: usize,
    /// Elements of A in the tile.
    pub a_len: u32,
    /// Elements of B in the tile.
    pub b_len: u32,
    /// Elements of A from the tile's first to the end; [`MANY`] if they are more.
    a_rest: u32,
    b_rest: u32,
}

/// More elements than any tile has.
const MANY: u32 = 1 << 30;

/// A tile's elements in shared memory, of each sequence in order, and one more element of each sequence that
/// continues after the tile. After them come at least as many meaningless elements as a thread has items,
/// so that walking past an end reads only memory that was written.
#[derive(Debug, Clone, Copy)]
pub struct StagedSequences<T> {
    /// The memory, aligned to 16 bytes.
    pub elements: Shared<T>,
    /// Elements of A, starting at the tile's first.
    pub a: Shared<T>,
    /// Elements of B, starting at the tile's first.
    pub b: Shared<T>,
}

/// Bytes of [`StagedSequences`] memory for a tile of up to `block` × `items` elements and one: a multiple of 16.
pub const fn staged_bytes<T: Element>(block: usize, items: usize) -> usize {
    staged_len::<T>(block, items) * T::SIZE
}

/// Elements of [`StagedSequences`] memory for a tile of up to `block` × `items` elements and one.
const fn staged_len<T: Element>(block: usize, items: usize) -> usize {
    let packet = 16 / T::SIZE;
    // Each sequence begins in a packet and ends in one, and has one element more than the tile.
    (block * items + 3 + 4 * (packet - 1) + items + 1).next_multiple_of(packet)
}

impl TilePair {
    /// A tile without elements, of empty sequences.
    pub const EMPTY: Self = Self { a_first: 0, b_first: 0, a_len: 0, b_len: 0, a_rest: 0, b_rest: 0 };

    /// Returns the tile from `start` to `end` of sequences of the given lengths. Where the sequences are not sorted, a
    /// later cut can lie before an earlier one; the tile is then still inside both sequences, and no longer than from
    /// cut to cut.
    #[device]
    pub fn between(start: PathCut<u64>, end: PathCut<u64>, a_len: u64, b_len: u64) -> Self {
        let len = (end.a + end.b - start.a - start.b) as u32;
        let a_tile = if end.a <= start.a {
            0
        } else if end.a - start.a > u64::from(len) {
            len
        } else {
            (end.a - start.a) as u32
        };
        Self {
            a_first: start.a as usize,
            b_first: start.b as usize,
            a_len: a_tile,
            b_len: len - a_tile,
            a_rest: (a_len - start.a).min(u64::from(MANY)) as u32,
            b_rest: (b_len - start.b).min(u64::from(MANY)) as u32,
        }
    }

    /// Returns the same tile, of sequences that begin at the elements `a` and `b` of their views.
    #[device]
    #[must_use]
    pub fn of_views(self, a: usize, b: usize) -> Self {
        Self { a_first: self.a_first + a, b_first: self.b_first + b, ..self }
    }

    /// Words of shared memory through which all threads learn of a tile.
    pub const WORDS: usize = 4;

    /// Writes the tile to shared memory.
    #[device(track_caller)]
    pub fn store(&self, words: Shared<u64>) {
        let pack = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        words.store(0, self.a_first as u64);
        words.store(1, self.b_first as u64);
        words.store(2, pack(self.a_len, self.b_len));
        words.store(3, pack(self.a_rest, self.b_rest));
    }

    /// Returns the tile that [`store`](Self::store) wrote.
    #[device(track_caller)]
    pub fn load(words: Shared<u64>) -> Self {
        let (lens, rests) = (words.load(2), words.load(3));
        Self {
            a_first: words.load(0) as usize,
            b_first: words.load(1) as usize,
            a_len: lens as u32,
            b_len: (lens >> 32) as u32,
            a_rest: rests as u32,
            b_rest: (rests >> 32) as u32,
        }
    }

    /// Returns the first element of A.
    #[device]
    pub fn a_first(&self) -> usize {
        self.a_first
    }

    /// Returns the first element of B.
    #[device]
    pub fn b_first(&self) -> usize {
        self.b_first
    }

    /// Elements of the tile.
    #[device]
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u32 {
        self.a_len + self.b_len
    }

    /// Returns whether both sequences continue after the tile, by `ahead` elements or more; `ahead` is not zero.
    #[device]
    pub fn is_inner(&self, ahead: usize) -> bool {
        let more = ahead as u32 - 1;
        self.a_len + more < self.a_rest && self.b_len + more < self.b_rest
    }

    /// Loads a thread's part of the tile, of at most `BLOCK` × `ITEMS` + 1 elements, 16 bytes per access.
    #[device]
    pub fn fetch<T: Element, const BLOCK: usize, const ITEMS: usize>(
        &self,
        a: Global<T, Aligned16>,
        b: Global<T, Aligned16>,
    ) -> Fetched<T, BLOCK, ITEMS> {
        let a = SequenceView::<T>::new(a, self.a_first, self.a_len, self.a_rest);
        let b = SequenceView::<T>::new(b, self.b_first, self.b_len, self.b_rest);
        let packet = (16 / T::SIZE) as u32;
        let reach = (Fetched::<T, BLOCK, ITEMS>::ROUNDS * BLOCK) as u32 * packet;
        let (a_skew, b_start) = (a.skew, a.packets * packet + b.skew);
        // True if both views have the elements that all threads load together.
        let both_reach = a.left >= reach && b.left >= reach;
        let mut packets = [[0; 2]; ITEMS];
        unroll!(for round in 0..ITEMS {
            if round < Fetched::<T, BLOCK, ITEMS>::ROUNDS {
                let number = thread::index() + (round * BLOCK) as u32;
                let in_a = number < a.packets;
                let view = if in_a { a.view } else { b.view };
                let first = (if in_a { number } else { number - a.packets }) * packet;
                let is_last = round + 1 == Fetched::<T, BLOCK, ITEMS>::ROUNDS;
                if both_reach {
                    // The tile mostly has all rounds but the last.
                    if !is_last || number < a.packets + b.packets {
                        packets[round] = view.load_streaming_16(first as usize);
                    }
                } else if number < a.packets + b.packets {
                    packets[round] = load_at_end(view, first, if in_a { a.left } else { b.left });
                }
            }
        });
        Fetched { packets, a: a_skew, b: b_start, element: PhantomData }
    }
}

/// Bytes of [`StagedSequences`] memory that [`TilePair::stage_each`] fills.
pub const fn staged_each_bytes<T: Element>(block: usize, items: usize) -> usize {
    block * (items + 1) * T::SIZE
}

impl TilePair {
    /// Copies the tile to shared memory, of [`staged_each_bytes`]. It reads only the tile, and one more element of each
    /// sequence that continues: other kernels may write beside the sequences meanwhile. The caller has the barrier
    /// after it.
    #[device(track_caller)]
    pub fn stage_each<T: Element, const BLOCK: usize, const ITEMS: usize>(
        &self,
        a: Global<T>,
        b: Global<T>,
        elements: Shared<T>,
    ) -> StagedSequences<T> {
        const { assert!(BLOCK > ITEMS + 2, "memory past the tile") };
        let a_count = (self.a_len + u32::from(self.a_len < self.a_rest)) as usize;
        let b_count = (self.b_len + u32::from(self.b_len < self.b_rest)) as usize;
        let (a, b) = (a.skip(self.a_first), b.skip(self.b_first));
        let load = |place: usize| {
            if place < a_count {
                a.load_streaming(place)
            } else if place - a_count < b_count {
                b.load_streaming(place - a_count)
            } else {
                T::ZERO
            }
        };
        let mut own = [T::ZERO; ITEMS];
        for item in 0..ITEMS {
            own[item] = load(thread::index() as usize + item * BLOCK);
        }
        let last = load(thread::index() as usize + ITEMS * BLOCK);
        for item in 0..ITEMS {
            elements.store(thread::index() as usize + item * BLOCK, own[item]);
        }
        elements.store(thread::index() as usize + ITEMS * BLOCK, last);
        StagedSequences { elements, a: elements, b: elements.skip(a_count) }
    }
}

/// A thread's part of a tile, to be written to shared memory.
#[derive(Debug)]
pub struct Fetched<T, const BLOCK: usize, const ITEMS: usize> {
    /// At most one packet per item is used.
    packets: [Packet; ITEMS],
    a: u32,
    b: u32,
    element: PhantomData<T>,
}

impl<T: Element, const BLOCK: usize, const ITEMS: usize> Fetched<T, BLOCK, ITEMS> {
    const ROUNDS: usize = (staged_bytes::<T>(BLOCK, ITEMS) / 16).div_ceil(BLOCK);

    /// Takes the memory for a tile, [`staged_bytes`], from an arena that is aligned to 16 bytes.
    #[device(track_caller)]
    pub fn take_memory(arena: &mut Arena) -> Shared<T> {
        arena.take(staged_len::<T>(BLOCK, ITEMS))
    }

    /// Writes the tile to shared memory, from [`take_memory`](Self::take_memory). The caller has the barrier after it.
    #[device(track_caller)]
    pub fn stage(&self, elements: Shared<T>) -> StagedSequences<T> {
        for round in 0..Self::ROUNDS {
            let first = (thread::index() as usize + round * BLOCK) * (16 / T::SIZE);
            if first < staged_len::<T>(BLOCK, ITEMS) {
                elements.store_16(first, self.packets[round]);
            }
        }
        StagedSequences { elements, a: elements.skip(self.a as usize), b: elements.skip(self.b as usize) }
    }
}

/// A tile's part of one sequence.
struct SequenceView<T> {
    /// Elements, starting at the packet that holds the tile's first.
    view: Global<T, Aligned16>,
    /// Elements of the view before the tile's first.
    skew: u32,
    packets: u32,
    /// Elements of the view; more than any tile has if they are more.
    left: u32,
}

impl<T: Element> SequenceView<T> {
    #[device]
    fn new(view: Global<T, Aligned16>, first: usize, len: u32, rest: u32) -> Self {
        let packet = 16 / T::SIZE;
        let skew = first % packet;
        let ahead = u32::from(len < rest);
        Self {
            view: view.skip_aligned(first - skew),
            skew: skew as u32,
            packets: (skew as u32 + len + ahead).div_ceil(packet as u32),
            left: rest + skew as u32,
        }
    }
}

/// Returns the packet at `first`, of a view with `left` elements; beyond its end, the last element is repeated.
#[device]
fn load_at_end<T: Element>(view: Global<T, Aligned16>, first: u32, left: u32) -> Packet {
    if first + (16 / T::SIZE) as u32 <= left {
        view.load_streaming_16(first as usize)
    } else {
        packet_of(|index| view.load((first + index as u32).min(left - 1) as usize))
    }
}
