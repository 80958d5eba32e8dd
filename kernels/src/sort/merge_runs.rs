//! Segments that are longer than a tile: their sorted tiles, the runs, are merged by merge path (Green, McColl, Bader, ICS
//! 2012), two at a time, from one buffer to another, until each segment is one run. Rounds are counted from the end, so
//! that all segments are in the same buffer: those with fewer runs join later.

use evenpath_simt::{device, kernel, parameters, thread, Arena, Element, Global, GlobalMut};

use super::segments::{merge_rounds, ElementRange};
use crate::block::balanced_path::PathCut;
use crate::block::merge_share::{MergeShare, FROM_B};
use crate::block::output;
use crate::block::radix_rank::{KeyOrder, RadixKey};
use crate::block::two_sequences::{staged_each_bytes, TilePair};
use crate::block::warp_search;

parameters! {
    /// One round of merges, of all pairs of tiles.
    pub struct MergeRound<K: RadixKey> {
        /// Segment of each pair of tiles, and the pair's number in it: see [`ListRuns`](super::ListRuns).
        pub pairs: Global<u64>,
        /// Conversion of sortable keys back, in the last round.
        pub order: KeyOrder<K>,
        /// The lowest bit to compare by.
        pub begin: u32,
        /// One more than the highest.
        pub end: u32,
        /// Rounds left with this one.
        pub left: u32,
    }
}

kernel! {
    /// Merges runs of sortable keys: one block per pair of tiles.
    pub struct MergeRunKeys<K: RadixKey> {
        /// The runs.
        pub keys: Global<K>,
        /// Output: runs of twice the length.
        pub merged_keys: GlobalMut<K>,
        /// The round.
        pub round: MergeRound<K>,
    }
    shared: TilePair::WORDS * 8 + staged_each_bytes::<K>(BLOCK, ITEMS);
    body: MergeRunKeys::merge_keys::<BLOCK, ITEMS>;
    entry: sort_merge_run_keys_{K} in sort_segments_{K bits}: (K, N) in [(u32, 22), (u64, 16)], 256 x N;
}

kernel! {
    /// Merges runs of sortable keys with their values: one block per pair of tiles.
    pub struct MergeRunPairs<K: RadixKey, V: Element> {
        /// The runs' keys.
        pub keys: Global<K>,
        /// Output: keys of runs of twice the length.
        pub merged_keys: GlobalMut<K>,
        /// The runs' values.
        pub values: Global<V>,
        /// Output: values of runs of twice the length.
        pub merged_values: GlobalMut<V>,
        /// The round.
        pub round: MergeRound<K>,
    }
    shared: TilePair::WORDS * 8 + staged_each_bytes::<K>(BLOCK, ITEMS) + BLOCK * ITEMS * 2;
    body: MergeRunPairs::merge_pairs::<BLOCK, ITEMS>;
    entry: sort_merge_run_pairs_{K}_{V} in sort_segments_{K bits}:
        (K, N, R) in [(u32, 22, 0), (u64, 16, 2)], V in [u32, u64], 256 x N resident R;
}

/// The two runs of which a block merges a part, and where the part is written.
#[derive(Clone, Copy)]
struct RunPair {
    a: ElementRange,
    b: ElementRange,
    /// The part, in elements of both runs.
    begin: usize,
    end: usize,
}

impl<K: RadixKey> MergeRound<K> {
    /// Returns the block's runs, or `None` if its segment is not merged yet.
    #[device(track_caller)]
    fn runs<const BLOCK: usize, const ITEMS: usize>(self) -> Option<RunPair> {
        let block = thread::block() as usize;
        let segment = ElementRange::unpack(self.pairs.load(2 * block));
        let tile = BLOCK * ITEMS;
        let rounds = merge_rounds(segment.len, tile / 2);
        if rounds < self.left {
            return None;
        }
        let number = self.pairs.load(2 * block + 1) as usize;
        let round = rounds - self.left;
        let both_begin = (number >> round << round) * tile;
        let half = (tile / 2) << round;
        let a_len = half.min(segment.len - both_begin);
        let a = ElementRange { first: segment.first + both_begin, len: a_len };
        let b = ElementRange { first: a.first + a_len, len: half.min(segment.len - both_begin - a_len) };
        let begin = number * tile - both_begin;
        Some(RunPair { a, b, begin, end: (begin + tile).min(a.len + b.len) })
    }

    /// Returns the function that masks the compared bits of a sortable key.
    #[device]
    fn compared(self) -> impl Fn(K) -> K + Copy {
        let mask = K::ONES.low_bits(self.end - self.begin).shifted_left(self.begin);
        move |key| key & mask
    }

    /// Returns the function that converts a merged key to the stored one.
    #[device]
    fn stored(self) -> impl Fn(K) -> K + Copy {
        let order = if self.left == 1 { self.order } else { KeyOrder::UNSIGNED };
        move |key: K| key.into_key(order)
    }

    /// Returns the block's tile of two runs. Two warps find its ends. Ends with a barrier.
    #[device(track_caller)]
    fn tile(self, arena: &mut Arena, keys: Global<K>, runs: RunPair) -> TilePair {
        let words = arena.take(TilePair::WORDS);
        if thread::warp() < 2 {
            let diagonal = if thread::warp() == 0 { runs.begin } else { runs.end };
            let (low, high) = (diagonal.saturating_sub(runs.b.len), diagonal.min(runs.a.len));
            let by = self.compared();
            let is_after = |taken: u64| {
                let a = by(keys.load(runs.a.first + taken as usize));
                by(keys.load(runs.b.first + diagonal - 1 - taken as usize)) < a
            };
            let a_taken = warp_search::first(low as u64, high as u64, is_after);
            if thread::lane() == 0 {
                words.store(thread::warp() as usize, a_taken);
            }
        }
        thread::barrier();
        let cut = |index: usize, diagonal: usize| {
            let a = words.load(index);
            PathCut { a, b: diagonal as u64 - a }
        };
        let (start, end) = (cut(0, runs.begin), cut(1, runs.end));
        TilePair::between(start, end, runs.a.len as u64, runs.b.len as u64)
            .of_views(runs.a.first, runs.b.first)
    }
}

impl<K: RadixKey> MergeRunKeys<K> {
    fn merge_keys<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let Some(runs) = self.round.runs::<BLOCK, ITEMS>() else {
            return;
        };
        let pair = self.round.tile(&mut arena, self.keys, runs);
        let elements = arena.take(BLOCK * (ITEMS + 1));
        let staged = pair.stage_each::<K, BLOCK, ITEMS>(self.keys, self.keys, elements);
        thread::barrier();
        let share = MergeShare::<K, ITEMS>::merge(&pair, staged, self.round.compared());
        thread::barrier();
        share.stage(staged, self.round.stored());
        thread::barrier();
        let first = runs.a.first + runs.begin;
        output::store::<K, BLOCK, ITEMS>(staged.elements, self.merged_keys, first, pair.len());
    }
}

impl<K: RadixKey, V: Element> MergeRunPairs<K, V> {
    fn merge_pairs<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        const { assert!(BLOCK * ITEMS <= FROM_B as usize) };
        let Some(runs) = self.round.runs::<BLOCK, ITEMS>() else {
            return;
        };
        let pair = self.round.tile(&mut arena, self.keys, runs);
        let elements = arena.take(BLOCK * (ITEMS + 1));
        let staged = pair.stage_each::<K, BLOCK, ITEMS>(self.keys, self.keys, elements);
        let sources = arena.take(BLOCK * ITEMS);
        thread::barrier();
        let share = MergeShare::<K, ITEMS>::merge(&pair, staged, self.round.compared());
        thread::barrier();
        share.stage(staged, self.round.stored());
        share.stage_sources(sources);
        thread::barrier();
        let first = runs.a.first + runs.begin;
        output::store::<K, BLOCK, ITEMS>(staged.elements, self.merged_keys, first, pair.len());
        // Values are copied from input to output directly.
        let (a, b) = (self.values.skip(pair.a_first()), self.values.skip(pair.b_first()));
        let merged = self.merged_values.skip(first);
        for item in 0..ITEMS {
            let place = thread::index() as usize + item * BLOCK;
            if place < pair.len() as usize {
                let source: u16 = sources.load(place);
                let from = if source & FROM_B == 0 { a } else { b };
                merged.store_streaming(place, from.load((source & !FROM_B) as usize));
            }
        }
    }
}
