// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{kernel, thread, Arena, Global, GlobalMut, Shared};

use crate::block::balanced_path::Cut;
use crate::block::two_sequences::{staged_bytes, Fetched, Sequences, Staged, TilePair};
use crate::block::{merge_path, output};
use crate::unroll::{unroll, Steps};
use crate::{Bits, Key};

kernel! {
    /// Merges the tiles, one block each.
    pub struct MergeKeys<K: Key> {
        /// The two sequences, sorted.
        pub inputs: Sequences<K>,
        /// Elements of A before each tile, from [`MergeKeysPartition`](super::MergeKeysPartition).
        pub starts: Global<u64>,
        /// Output: all elements, sorted.
        pub merged: GlobalMut<K>,
    }
    shared: TilePair::WORDS * 8 + staged_bytes::<K>(BLOCK, ITEMS);
    body: MergeKeys::keys::<BLOCK, ITEMS>;
    entries: {
        merge_keys_u32 in merge_u32: <K = u32>, 256 x 23;
        merge_keys_u64 in merge_u64: <K = u64>, 256 x 15;
    }
}

impl<K: Key> MergeKeys<K> {
    fn keys<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let pair = tile_pair::<K, BLOCK, ITEMS>(&mut arena, self.starts, self.inputs);
        let fetched = pair.fetch::<K, BLOCK, ITEMS>(self.inputs.a, self.inputs.b);
        let staged = fetched.stage(Fetched::<K, BLOCK, ITEMS>::take_memory(&mut arena));
        thread::barrier();
        let share = Share::<K, ITEMS>::merge(&pair, staged);
        thread::barrier();
        share.stage(staged);
        thread::barrier();
        let first = thread::block() as usize * BLOCK * ITEMS;
        output::store_aligned::<K, BLOCK, ITEMS>(staged.elements, self.merged, first, pair.len());
    }
}

kernel! {
    /// Merges the tiles of pairs of key and value, one block each.
    pub struct MergePairs<K: Key, V: Bits> {
        /// The keys of both sequences, sorted.
        pub inputs: Sequences<K>,
        /// Values of the first sequence, one per key.
        pub a_values: Global<V>,
        /// Values of the second.
        pub b_values: Global<V>,
        /// Elements of A before each tile, from [`MergeKeysPartition`](super::MergeKeysPartition).
        pub starts: Global<u64>,
        /// Output: all keys, sorted.
        pub keys: GlobalMut<K>,
        /// Output: their values.
        pub values: GlobalMut<V>,
    }
    shared: TilePair::WORDS * 8 + staged_bytes::<K>(BLOCK, ITEMS) + staged_bytes::<V>(BLOCK, ITEMS);
    body: MergePairs::pairs::<BLOCK, ITEMS>;
    entries: {
        merge_pairs_u32_32 in merge_pairs_u32: <K = u32, V = u32>, 256 x 15;
        merge_pairs_u32_64 in merge_pairs_u32: <K = u32, V = u64>, 256 x 13;
        merge_pairs_u64_32 in merge_pairs_u64: <K = u64, V = u32>, 256 x 13;
        merge_pairs_u64_64 in merge_pairs_u64: <K = u64, V = u64>, 256 x 11;
    }
}

impl<K: Key, V: Bits> MergePairs<K, V> {
    fn pairs<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let pair = tile_pair::<K, BLOCK, ITEMS>(&mut arena, self.starts, self.inputs);
        let keys_on_the_way = pair.fetch::<K, BLOCK, ITEMS>(self.inputs.a, self.inputs.b);
        let values_on_the_way = pair.fetch::<V, BLOCK, ITEMS>(self.a_values, self.b_values);
        let staged_keys = keys_on_the_way.stage(Fetched::<K, BLOCK, ITEMS>::take_memory(&mut arena));
        let staged_values = values_on_the_way.stage(Fetched::<V, BLOCK, ITEMS>::take_memory(&mut arena));
        thread::barrier();
        let share = Share::<K, ITEMS>::merge(&pair, staged_keys);
        thread::barrier();
        share.stage(staged_keys);
        let own_values = share.gather(staged_values);
        thread::barrier();
        let first = thread::block() as usize * BLOCK * ITEMS;
        output::store_aligned::<K, BLOCK, ITEMS>(staged_keys.elements, self.keys, first, pair.len());
        for item in 0..ITEMS {
            staged_values.elements.store(thread::index() as usize * ITEMS + item, own_values[item]);
        }
        thread::barrier();
        output::store_aligned::<V, BLOCK, ITEMS>(staged_values.elements, self.values, first, pair.len());
    }
}

/// The block's tile, which one thread finds and shares with the others. Ends with a barrier.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn tile_pair<K: Key, const BLOCK: usize, const ITEMS: usize>(
    arena: &mut Arena,
    starts: Global<u64>,
    inputs: Sequences<K>,
) -> TilePair {
    let words = arena.take(TilePair::WORDS);
    if thread::index() == 0 {
        let tile = thread::block() as usize;
        let (start, end) = (starts.load(tile), starts.load(tile + 1));
        let first = (tile * BLOCK * ITEMS) as u64;
        let last = (first + (BLOCK * ITEMS) as u64).min(inputs.len());
        let (start, end) = (Cut { a: start, b: first - start }, Cut { a: end, b: last - end });
        TilePair::between(start, end, inputs.a_len, inputs.b_len).store(words);
    }
    thread::barrier();
    TilePair::load(words)
}

/// A thread's share of a tile's output: up to `ITEMS` elements in order.
struct Share<K, const ITEMS: usize> {
    keys: [K; ITEMS],
    /// A bit for each of them that is A's.
    from_a: u32,
    /// Elements of A and of B in the tile before them.
    start: Cut<u32>,
}

impl<K: Key, const ITEMS: usize> Share<K, ITEMS> {
    #[inline(always)]
    fn merge(pair: &TilePair, staged: Staged<K>) -> Self {
        let diagonal = (thread::index() * ITEMS as u32).min(pair.len());
        let (a, b) = (|index: u32| staged.a.load(index as usize), |index: u32| staged.b.load(index as usize));
        let a_start = merge_path::search(diagonal, pair.a_len, pair.b_len, a, b);
        let start = Cut { a: a_start, b: diagonal - a_start };
        if pair.is_inner(1) {
            Self::walk::<false>(pair, staged, start)
        } else {
            Self::walk::<true>(pair, staged, start)
        }
    }

    /// Takes `ITEMS` steps. Where both sequences continue after the tile, the element there stops a thread that
    /// reaches the tile's end; elsewhere (`BOUNDED`) indices are compared.
    #[inline(always)]
    fn walk<const BOUNDED: bool>(pair: &TilePair, staged: Staged<K>, start: Cut<u32>) -> Self {
        let (a, b) = (staged.a.skip(start.a as usize), staged.b.skip(start.b as usize));
        let mut walk = Walk::<K, ITEMS, BOUNDED> {
            a,
            b,
            a_end: staged.a.skip(pair.a_len as usize).address(),
            b_end: staged.b.skip(pair.b_len as usize).address(),
            a_key: a.load(0),
            b_key: b.load(0),
            keys: [K::ZERO; ITEMS],
            from_a: 0,
        };
        unroll::<ITEMS>(&mut walk);
        Self { keys: walk.keys, from_a: walk.from_a, start }
    }

    /// Brings the keys to shared memory in the order of the output, over the tile that was there.
    #[inline(always)]
    fn stage(&self, staged: Staged<K>) {
        for item in 0..ITEMS {
            staged.elements.store(thread::index() as usize * ITEMS + item, self.keys[item]);
        }
    }

    /// The values of the thread's elements.
    #[inline(always)]
    fn gather<V: Bits>(&self, staged: Staged<V>) -> [V; ITEMS] {
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
}

/// A thread's position in a tile.
struct Walk<K, const ITEMS: usize, const BOUNDED: bool> {
    /// The elements to come.
    a: Shared<K>,
    b: Shared<K>,
    /// The addresses where the tile's elements end.
    a_end: u32,
    b_end: u32,
    /// The first elements to come.
    a_key: K,
    b_key: K,
    keys: [K; ITEMS],
    from_a: u32,
}

impl<K: Key, const ITEMS: usize, const BOUNDED: bool> Steps for Walk<K, ITEMS, BOUNDED> {
    #[inline(always)]
    fn step(&mut self, item: usize) {
        let mut take_a = self.a_key <= self.b_key;
        if BOUNDED {
            take_a = self.a.address() < self.a_end && (take_a || self.b.address() >= self.b_end);
        }
        self.keys[item] = if take_a { self.a_key } else { self.b_key };
        // At the end of both, the thread walks on in B: what it reads there is not used.
        let rest = (if take_a { self.a } else { self.b }).skip(1);
        if take_a {
            self.from_a |= 1 << item;
            self.a = rest;
        } else {
            self.b = rest;
        }
        let next = rest.load(0);
        if take_a {
            self.a_key = next;
        } else {
            self.b_key = next;
        }
    }
}
