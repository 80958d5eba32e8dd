//! A merge of a tile that is in shared memory, an equal share of the output per thread.
use evenpath_simt::{device, thread, Shared};

use super::balanced_path::PathCut;
use super::merge_path;
use super::two_sequences::{StagedSequences, TilePair};
use crate::unroll::unroll;
use crate::{Key, ValueBits};

/// Number that [`MergeShare::stage_sources`] adds to indices of B: at least the elements of a tile.
pub const FROM_B: u16 = 1 << 15;

/// A thread's share of a tile's output: up to `ITEMS` elements in order.
pub struct MergeShare<K, const ITEMS: usize> {
    keys: [K; ITEMS],
    /// A bit for each of them that is A's.
    from_a: u32,
    /// Elements of A and of B in the tile before them.
    start: PathCut<u32>,
}

impl<K: Key, const ITEMS: usize> MergeShare<K, ITEMS> {
    /// Merges by what `by` makes of the keys; for every thread of a block.
    #[device(track_caller)]
    pub fn merge(pair: &TilePair, staged: StagedSequences<K>, by: impl Fn(K) -> K + Copy) -> Self {
        let diagonal = (thread::index() * ITEMS as u32).min(pair.len());
        let (a, b) = (|i: u32| by(staged.a.load(i as usize)), |i: u32| by(staged.b.load(i as usize)));
        let a_start = merge_path::search(diagonal, pair.a_len, pair.b_len, a, b);
        let start = PathCut { a: a_start, b: diagonal - a_start };
        if pair.is_inner(1) {
            Self::walk::<false>(pair, staged, start, by)
        } else {
            Self::walk::<true>(pair, staged, start, by)
        }
    }

    /// Takes `ITEMS` steps. Where both sequences continue after the tile, the element there stops a thread that
    /// reaches the tile's end; elsewhere (`BOUNDED`) indices are compared.
    #[device]
    fn walk<const BOUNDED: bool>(
        pair: &TilePair,
        staged: StagedSequences<K>,
        start: PathCut<u32>,
        by: impl Fn(K) -> K,
    ) -> Self {
        // The elements to come, and where the tile's end.
        let (mut a, mut b) = (staged.a.skip(start.a as usize), staged.b.skip(start.b as usize));
        let a_end = staged.a.skip(pair.a_len as usize).address();
        let b_end = staged.b.skip(pair.b_len as usize).address();
        let (mut a_key, mut b_key) = (a.load(0), b.load(0));
        let (mut keys, mut from_a) = ([K::ZERO; ITEMS], 0);
        unroll!(for item in 0..ITEMS {
            let mut take_a = by(a_key) <= by(b_key);
            if BOUNDED {
                take_a = a.address() < a_end && (take_a || b.address() >= b_end);
            }
            keys[item] = if take_a { a_key } else { b_key };
            // At the end of both, the thread walks on in B, but does not use what it reads.
            let rest = (if take_a { a } else { b }).skip(1);
            if take_a {
                from_a |= 1 << item;
                a = rest;
            } else {
                b = rest;
            }
            let next = rest.load(0);
            if take_a {
                a_key = next;
            } else {
                b_key = next;
            }
        });
        Self { keys, from_a, start }
    }

    /// Writes the keys, changed by `change`, to shared memory in the order of the output. They replace the tile.
    #[device(track_caller)]
    pub fn stage(&self, staged: StagedSequences<K>, change: impl Fn(K) -> K) {
        for item in 0..ITEMS {
            staged.elements.store(thread::index() as usize * ITEMS + item, change(self.keys[item]));
        }
    }

    /// Returns the values of the thread's elements.
    #[device(track_caller)]
    pub fn gather<V: ValueBits>(&self, staged: StagedSequences<V>) -> [V; ITEMS] {
        let (mut a, mut b) = (staged.a.skip(self.start.a as usize), staged.b.skip(self.start.b as usize));
        let mut values = [V::ZERO; ITEMS];
        for item in 0..ITEMS {
            let is_a = self.from_a >> item & 1 == 1;
            let own = if is_a { a } else { b };
            values[item] = own.load(0);
            if is_a {
                a = own.skip(1);
            } else {
                b = own.skip(1);
            }
        }
        values
    }

    /// Writes the origins of elements to shared memory, in the order of the output: an index in the tile's A, or one in
    /// its B plus [`FROM_B`].
    #[device(track_caller)]
    pub fn stage_sources(&self, sources: Shared<u16>) {
        let (mut a, mut b) = (self.start.a as u16, self.start.b as u16 | FROM_B);
        for item in 0..ITEMS {
            let is_a = self.from_a >> item & 1 == 1;
            sources.store(thread::index() as usize * ITEMS + item, if is_a { a } else { b });
            a += u16::from(is_a);
            b += u16::from(!is_a);
        }
    }
}
