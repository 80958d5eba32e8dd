//! Reduction by keys and by flags, in one pass over the data.
use evenpath_simt::{device, kernel, thread, Aligned16, Arena, Global, GlobalMut, Shared};

use super::reduce_tile::{reduce_tile, ReduceArguments, SegmentOutput};
use crate::block::operator::{Min, Number, Operator, Sum};
use crate::block::staged::StagedTile;
use crate::scan::{shared_bytes, ElementMarks, SegmentMark, WarpMarks};

kernel! {
    /// Reduces the values of consecutive equal keys: one block per tile, tiles in the order in which blocks start. Its
    /// variants are the operators.
    pub struct ReduceByKey<V: Number, K: SegmentMark> {
        /// Parameters of the reduction.
        pub reduction: ReduceArguments<V>,
        /// One key per value.
        pub keys: Global<K, Aligned16>,
        /// Output: the key of each segment; as many as there are keys at most.
        pub segment_keys: GlobalMut<K>,
        /// Output: the sum of each segment.
        pub segment_sums: GlobalMut<V>,
        /// Output: one word, the number of segments.
        pub segments: GlobalMut<u64>,
    }
    shared: 0;
    body: ReduceByKey::by_key::<P, BLOCK, ITEMS>;
    entries: {
        reduce_{P}_{V}_by_{K} in reduce_{P}_{V}:
            P in [Sum as sum, Min as min], V in [u32, i32, f32], (K, N) in [(u32, 20), (u64, 12)], 256 x N;
        reduce_{P}_{V}_by_{K} in reduce_{P}_{V}:
            P in [Sum as sum, Min as min], V in [u64, f64], (K, N) in [(u32, 14), (u64, 10)], 256 x N;
    }
}

/// Keys and sums side by side.
struct KeysAndSums<V, K, const BLOCK: usize, const ITEMS: usize> {
    /// The tile's keys; then those of its heads.
    staged: StagedTile<K, BLOCK, ITEMS>,
    segment_keys: GlobalMut<K>,
    segment_sums: GlobalMut<V>,
    segments: GlobalMut<u64>,
}

impl<V: Number, K: SegmentMark, const BLOCK: usize, const ITEMS: usize> SegmentOutput<V>
    for KeysAndSums<V, K, BLOCK, ITEMS>
{
    #[device(track_caller)]
    fn stage(&mut self, heads: u32, slot: u32) {
        let keys = self.staged.own();
        // All have read what is overwritten now.
        thread::barrier();
        let target: Shared<K> = self.staged.elements();
        let mut slot = slot as usize;
        for item in 0..ITEMS {
            if heads >> item & 1 != 0 {
                target.store(slot, keys[item]);
                slot += 1;
            }
        }
    }

    #[device(track_caller)]
    fn store_heads(&self, first: usize, count: u32) {
        let target = self.segment_keys.skip(first);
        thread::block_stride::<BLOCK>(count, |slot| {
            target.store_streaming(slot as usize, self.staged.elements().load(slot as usize));
        });
    }

    #[device(track_caller)]
    fn store_sum(&self, segment: usize, sum: V) {
        self.segment_sums.store_streaming(segment, sum);
    }

    #[device(track_caller)]
    fn store_count(&self, segments: usize) {
        self.segments.store(0, segments as u64);
    }
}

impl<V: Number, K: SegmentMark> ReduceByKey<V, K> {
    #[device]
    fn by_key<P: Operator<V>, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let mut arena = Arena::dynamic(shared_bytes(V::SIZE, K::SIZE, BLOCK, ITEMS));
        let mut marks = ElementMarks::<K, BLOCK, ITEMS>::new(&mut arena, self.keys);
        let mut output = KeysAndSums {
            staged: marks.staged(),
            segment_keys: self.segment_keys,
            segment_sums: self.segment_sums,
            segments: self.segments,
        };
        reduce_tile::<V, P, _, BLOCK, ITEMS>(&mut arena, &mut marks, &mut output, self.reduction);
    }
}

kernel! {
    /// Reduces the values from each flagged one to the next: one block per tile, tiles in the order in which blocks start.
    /// Its variants are the operators.
    pub struct ReduceByFlag<V: Number> {
        /// Parameters of the reduction.
        pub reduction: ReduceArguments<V>,
        /// One flag per value: not zero where a segment begins.
        pub flags: Global<u8>,
        /// Output: the sum of each segment; as many as there are values at most.
        pub segment_sums: GlobalMut<V>,
        /// Output: one word, the number of segments.
        pub segments: GlobalMut<u64>,
    }
    shared: 0;
    body: ReduceByFlag::by_flag::<P, BLOCK, ITEMS>;
    entry: reduce_{P}_{V}_by_flag in reduce_{P}_{V}:
        P in [Sum as sum, Min as min], (V, N) in [(u32, 20), (i32, 20), (u64, 14), (f32, 20), (f64, 14)], 256 x N;
}

/// Sums alone.
struct SumsOnly<V> {
    segment_sums: GlobalMut<V>,
    segments: GlobalMut<u64>,
}

impl<V: Number> SegmentOutput<V> for SumsOnly<V> {
    #[device(track_caller)]
    fn store_sum(&self, segment: usize, sum: V) {
        self.segment_sums.store_streaming(segment, sum);
    }

    #[device(track_caller)]
    fn store_count(&self, segments: usize) {
        self.segments.store(0, segments as u64);
    }
}

impl<V: Number> ReduceByFlag<V> {
    #[device]
    fn by_flag<P: Operator<V>, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let mut arena = Arena::dynamic(shared_bytes(V::SIZE, 0, BLOCK, ITEMS));
        let mut marks = WarpMarks::<u8, ITEMS>::new(self.flags);
        let mut output = SumsOnly { segment_sums: self.segment_sums, segments: self.segments };
        reduce_tile::<V, P, _, BLOCK, ITEMS>(&mut arena, &mut marks, &mut output, self.reduction);
    }
}
