use evenpath_simt::{device, kernel, thread, Aligned16, Arena, Global, GlobalMut};

use crate::block::balanced_path::PathCut;
use crate::block::merge_share::MergeShare;
use crate::block::output;
use crate::block::two_sequences::{staged_bytes, Fetched, Sequences, TilePair};
use crate::{Key, ValueBits};

kernel! {
    /// Merges the tiles, one block each.
    pub struct MergeKeys<K: Key> {
        /// The two sequences, sorted.
        pub inputs: Sequences<K>,
        /// Elements of A before each tile, from [`MergeKeysPartition`](super::MergeKeysPartition).
        pub starts: Global<u64>,
        /// Output: all elements, sorted.
        pub merged: GlobalMut<K, Aligned16>,
    }
    shared: TilePair::WORDS * 8 + staged_bytes::<K>(BLOCK, ITEMS);
    body: MergeKeys::keys::<BLOCK, ITEMS>;
    entry: merge_keys_{K} in merge_{K}: (K, N) in [(u32, 23), (u64, 15)], 256 x N;
}

impl<K: Key> MergeKeys<K> {
    fn keys<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let pair = tile_pair::<K, BLOCK, ITEMS>(&mut arena, self.starts, self.inputs);
        let fetched = pair.fetch::<K, BLOCK, ITEMS>(self.inputs.a, self.inputs.b);
        let staged = fetched.stage(Fetched::<K, BLOCK, ITEMS>::take_memory(&mut arena));
        thread::barrier();
        let share = MergeShare::<K, ITEMS>::merge(&pair, staged, |key| key);
        thread::barrier();
        share.stage(staged, |key| key);
        thread::barrier();
        let first = thread::block() as usize * BLOCK * ITEMS;
        output::store_aligned::<K, BLOCK, ITEMS>(staged.elements, self.merged, first, pair.len());
    }
}

kernel! {
    /// Merges the tiles of pairs of key and value, one block each.
    pub struct MergePairs<K: Key, V: ValueBits> {
        /// The keys of both sequences, sorted.
        pub inputs: Sequences<K>,
        /// Values of the first sequence, one per key.
        pub a_values: Global<V, Aligned16>,
        /// Values of the second.
        pub b_values: Global<V, Aligned16>,
        /// Elements of A before each tile, from [`MergeKeysPartition`](super::MergeKeysPartition).
        pub starts: Global<u64>,
        /// Output: all keys, sorted.
        pub keys: GlobalMut<K, Aligned16>,
        /// Output: their values.
        pub values: GlobalMut<V, Aligned16>,
    }
    shared: TilePair::WORDS * 8 + staged_bytes::<K>(BLOCK, ITEMS) + staged_bytes::<V>(BLOCK, ITEMS);
    body: MergePairs::pairs::<BLOCK, ITEMS>;
    entry: merge_pairs_{K}_{V bits} in merge_pairs_{K}:
        (K, V, N) in [(u32, u32, 15), (u32, u64, 13), (u64, u32, 13), (u64, u64, 11)], 256 x N;
}

impl<K: Key, V: ValueBits> MergePairs<K, V> {
    fn pairs<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let pair = tile_pair::<K, BLOCK, ITEMS>(&mut arena, self.starts, self.inputs);
        let keys_on_the_way = pair.fetch::<K, BLOCK, ITEMS>(self.inputs.a, self.inputs.b);
        let values_on_the_way = pair.fetch::<V, BLOCK, ITEMS>(self.a_values, self.b_values);
        let staged_keys = keys_on_the_way.stage(Fetched::<K, BLOCK, ITEMS>::take_memory(&mut arena));
        let staged_values = values_on_the_way.stage(Fetched::<V, BLOCK, ITEMS>::take_memory(&mut arena));
        thread::barrier();
        let share = MergeShare::<K, ITEMS>::merge(&pair, staged_keys, |key| key);
        thread::barrier();
        share.stage(staged_keys, |key| key);
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

/// Returns the block's tile, which one thread finds and shares with the others. Ends with a barrier.
#[device(track_caller)]
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
        let (start, end) = (PathCut { a: start, b: first - start }, PathCut { a: end, b: last - end });
        TilePair::between(start, end, inputs.a_len, inputs.b_len).store(words);
    }
    thread::barrier();
    TilePair::load(words)
}
