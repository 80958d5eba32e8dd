use evenpath_simt::{bits, kernel, thread, Arena, Global, GlobalMut};

/// Results that [`BitCounts`] writes for each word.
pub const BIT_COUNTS: usize = 3;

kernel! {
    /// Counts bits of words: those that are set, those above the highest of them, those below the lowest.
    pub struct BitCounts {
        /// 64 words.
        pub words: Global<u64>,
        /// Output: [`BIT_COUNTS`] per word.
        pub counts: GlobalMut<u32>,
    }
    shared: 0;
    body: BitCounts::bit_counts;
    entry: testing_bit_counts in testing: 64 x 1;
}

impl BitCounts {
    fn bit_counts(self, _: Arena) {
        let Self { counts, .. } = self;
        let index = thread::index() as usize;
        let word = self.words.load(index);
        let counts = counts.skip(BIT_COUNTS * index);
        counts.store(0, bits::count_ones(word));
        counts.store(1, bits::leading_zeros(word));
        counts.store(2, bits::trailing_zeros(word));
    }
}
