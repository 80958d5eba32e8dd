//! A matrix of the entries that are marked.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Global, GlobalMut};

use crate::Offset;

/// Number of marked entries before `index`, from the marks and the number before each word.
#[device(track_caller)]
fn rank(bits: Global<u32>, before: Global<u64>, index: usize) -> u64 {
    let below = bits.load(index / 32) & ((1 << (index % 32)) - 1);
    before.load(index / 32) + u64::from(below.count_ones())
}

kernel! {
    /// Counts the marks of each word: one thread per word.
    pub struct CountKept {
        /// The marks.
        pub bits: Global<u32>,
        /// Output: a count per word.
        pub counts: GlobalMut<u64>,
        /// Words.
        pub words: u64,
    }
    shared: 0;
    body: CountKept::count_kept::<BLOCK>;
    entry: entries_count_kept in entries: 256 x 1;
}

impl CountKept {
    #[device]
    fn count_kept<const BLOCK: usize>(self, _: Arena) {
        let word = thread::global_index::<BLOCK>();
        if word < self.words as usize {
            self.counts.store(word, u64::from(self.bits.load(word).count_ones()));
        }
    }
}

kernel! {
    /// Finds the row offsets of the marked entries: one thread per row, and one for the end.
    pub struct RankRows<O: Offset> {
        /// Row offsets of all entries, `rows` + 1.
        pub row_offsets: Global<O>,
        /// The marks; one more bit than there are entries.
        pub bits: Global<u32>,
        /// Number of marks before each word.
        pub before: Global<u64>,
        /// Output: row offsets, `rows` + 1.
        pub kept_offsets: GlobalMut<O>,
        /// Rows.
        pub rows: u32,
    }
    shared: 0;
    body: RankRows::rank_rows::<BLOCK>;
    entry: entries_rank_rows_{O} in entries: O in [u32, u64], 256 x 1;
}

impl<O: Offset> RankRows<O> {
    #[device]
    fn rank_rows<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        if row <= self.rows as usize {
            let first = self.row_offsets.load(row).to_usize();
            self.kept_offsets.store(row, O::from_bits(rank(self.bits, self.before, first)));
        }
    }
}

kernel! {
    /// Copies the marked entries, in their order: one thread per entry.
    pub struct CompactEntries<V: Arithmetic> {
        /// The columns of the entries.
        pub column_indices: Global<u32>,
        /// Their values.
        pub values: Global<V>,
        /// Their marks.
        pub bits: Global<u32>,
        /// Number of marks before each word.
        pub before: Global<u64>,
        /// Output: columns.
        pub kept_columns: GlobalMut<u32>,
        /// Output: values.
        pub kept_values: GlobalMut<V>,
        /// Number of entries.
        pub len: u64,
    }
    shared: 0;
    body: CompactEntries::compact_entries::<BLOCK>;
    entries: {
        entries_compact_{V} in entries_{V}: V in [f32, f64], 256 x 1;
        entries_compact_{V} in entries_complex: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
    }
}

impl<V: Arithmetic> CompactEntries<V> {
    #[device]
    fn compact_entries<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize && self.bits.load(index / 32) >> (index % 32) & 1 != 0 {
            let target = rank(self.bits, self.before, index) as usize;
            self.kept_columns.store(target, self.column_indices.load_streaming(index));
            self.kept_values.store(target, self.values.load_streaming(index));
        }
    }
}
