//! Histograms for onesweep: the number of keys with each value of each digit, counted before its passes.
use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Aligned16, Arena, Global, GlobalMut, Shared};

use super::onesweep::BASES_PER_PASS;
use crate::block::radix_rank::{KeyOrder, Passes, RadixKey, BINS, DIGIT_BITS};

kernel! {
    /// Counts the digits of all passes in one read of the keys. The grid may have any size; each block takes every
    /// grid-th share of `BLOCK` × `ITEMS` keys and counts in its shared memory.
    pub struct Histogram<K: RadixKey> {
        /// The keys, `len`.
        pub keys: Global<K, Aligned16>,
        /// [`BASES_PER_PASS`] words per pass, zero before: the counts are added to the first of them.
        pub bases: GlobalMut<u64>,
        /// Keys.
        pub len: u64,
        /// The lowest bit to sort by.
        pub begin: u32,
        /// One more than the highest.
        pub end: u32,
        /// Conversion of keys to sortable ones.
        pub order: KeyOrder<K>,
    }
    shared: max_passes::<K>() * BINS * 4;
    body: Histogram::histogram::<BLOCK, ITEMS>;
    entry: sort_histogram_{K} in sort_keys_{K bits}: (K, N) in [(u32, 16), (u64, 8)], 256 x N;
}

const fn max_passes<K: RadixKey>() -> usize {
    K::BITS.div_ceil(DIGIT_BITS) as usize
}

/// Keys of one vector load.
const VECTOR: usize = 4;

impl<K: RadixKey> Histogram<K> {
    fn histogram<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        const { assert!(ITEMS.is_multiple_of(VECTOR)) };
        let passes = Passes::new(self.begin, self.end);
        let counters: Shared<u32> = arena.take(max_passes::<K>() * BINS);
        let words = passes.count() as usize * BINS;
        let thread = thread::index() as usize;
        let mut word = thread;
        while word < words {
            counters.store(word, 0);
            word += BLOCK;
        }
        thread::barrier();

        let len = self.len as usize;
        let mut first = thread::block() as usize * (BLOCK * ITEMS);
        while first + BLOCK * ITEMS <= len {
            let share = self.keys.skip_aligned(first);
            let mut own = [K::ZERO; ITEMS];
            for vector in 0..ITEMS / VECTOR {
                let loaded = share.load_streaming_4((vector * BLOCK + thread) * VECTOR);
                for item in 0..VECTOR {
                    own[vector * VECTOR + item] = loaded[item];
                }
            }
            count(counters, passes, self.order, &own);
            first += thread::grid_size() as usize * (BLOCK * ITEMS);
        }
        // The block whose turn it is takes the last share, which is not full.
        let mut index = first + thread;
        while index < len {
            count(counters, passes, self.order, &[self.keys.load_streaming(index)]);
            index += BLOCK;
        }
        thread::barrier();

        let mut word = thread;
        while word < words {
            let count = counters.load(word);
            if count != 0 {
                let index = word / BINS * BASES_PER_PASS + word % BINS;
                self.bases.fetch_add(index, u64::from(count), Ordering::Relaxed, Scope::Device);
            }
            word += BLOCK;
        }
    }
}

/// Counts the digits of some keys.
#[device]
fn count<K: RadixKey, const N: usize>(
    counters: Shared<u32>,
    passes: Passes,
    order: KeyOrder<K>,
    keys: &[K; N],
) {
    let mut sortable = *keys;
    for item in 0..N {
        sortable[item] = sortable[item].to_sortable(order);
    }
    let mut pass = 0;
    while pass < passes.count() {
        let digit = passes.digit(pass);
        for item in 0..N {
            counters.fetch_add(pass as usize * BINS + digit.of(sortable[item]), 1);
        }
        pass += 1;
    }
}

kernel! {
    /// Turns each pass's counts into the places where its digits' keys begin: one block per pass.
    pub struct BinStarts {
        /// Counts from [`Histogram`]; replaced by the sums of those before.
        pub bases: GlobalMut<u64>,
    }
    shared: BLOCK / thread::WARP_SIZE as usize * 8;
    body: BinStarts::bin_starts::<BLOCK>;
    entry: sort_bin_starts in sort_plan: 256 x 1;
}

impl BinStarts {
    fn bin_starts<const BLOCK: usize>(self, mut arena: Arena) {
        const { assert!(BLOCK == BINS) };
        let warp_sums: Shared<u64> = arena.take(BLOCK / 32);
        let index = thread::block() as usize * BASES_PER_PASS + thread::index() as usize;
        let count = self.bases.load(index);
        let inclusive = warp::inclusive_sum(count);
        if thread::lane() == thread::WARP_SIZE - 1 {
            warp_sums.store(thread::warp() as usize, inclusive);
        }
        thread::barrier();
        let mut before = inclusive - count;
        let mut warp = 0;
        while warp < thread::warp() as usize {
            before += warp_sums.load(warp);
            warp += 1;
        }
        self.bases.store(index, before);
    }
}
