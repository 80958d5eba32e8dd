//! Conversion of row offsets: to another type, and to more rows.

use evenpath_simt::{device, kernel, thread, Arena, Global, GlobalMut};

use crate::block::count_scan::CountScan;
use crate::block::numbered_bits::NumberedBits;
use crate::block::pair_search::PairSearch;
use crate::Offset;

kernel! {
    /// Converts row offsets to another type, which can represent them all: one thread per offset.
    pub struct SpgemmConvertOffsets<S: Offset, T: Offset> {
        /// Input.
        pub source: Global<S>,
        /// Output.
        pub target: GlobalMut<T>,
        /// The number of offsets.
        pub len: u64,
    }
    shared: 0;
    body: SpgemmConvertOffsets::convert::<BLOCK>;
    entry: spgemm_offsets_{T} in spgemm_plan:
        (S, T) in [(u64, u32 as to_u32), (u32, u64 as to_u64), (u64, u64 as of_u64)], 256 x 1;
}

impl<S: Offset, T: Offset> SpgemmConvertOffsets<S, T> {
    #[device]
    fn convert<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if (index as u64) < self.len {
            self.target.store(index, T::from_bits(self.source.load_streaming(index).to_bits()));
        }
    }
}

kernel! {
    /// Computes the row offsets of a matrix from those of the rows that have entries: one thread for `ITEMS` offsets.
    pub struct SpgemmExpandOffsets<O: Offset> {
        /// The rows that have entries, in order.
        pub filled_rows: Global<u32>,
        /// Their offsets, one more.
        pub filled_offsets: Global<O>,
        /// Output: the offsets of all rows, one more.
        pub row_offsets: GlobalMut<O>,
        /// The number of rows that have entries.
        pub filled: u32,
        /// The number of offsets.
        pub len: u64,
    }
    shared: PairSearch::<BLOCK>::BYTES + NumberedBits::<BLOCK, ITEMS>::BYTES + CountScan::<u32, BLOCK>::BYTES;
    body: SpgemmExpandOffsets::expand::<BLOCK, ITEMS>;
    entry: spgemm_expand_offsets_{O} in spgemm_plan: O in [u32, u64], 256 x 8;
}

impl<O: Offset> SpgemmExpandOffsets<O> {
    #[device]
    fn expand<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let search = PairSearch::<BLOCK>::take(&mut arena);
        let marks = NumberedBits::<BLOCK, ITEMS>::take(&mut arena);
        let scan = CountScan::take(&mut arena);
        // 1. Find which of the rows that have entries are among the block's.
        let len = (BLOCK * ITEMS) as u64;
        let first = u64::from(thread::block()) * len;
        let position = |index: u64| u64::from(self.filled_rows.load(index as usize));
        let probed = PairSearch::<BLOCK>::probe(u64::from(self.filled), position);
        marks.clear();
        // The search has a barrier, behind which marks are set.
        let (begin, end) = search.first(u64::from(self.filled), (first, first + len), probed, position);
        // 2. Mark them.
        let mut index = begin + u64::from(thread::index());
        while index < end {
            marks.set((position(index) - first) as u32);
            index += BLOCK as u64;
        }
        marks.number(scan);
        // 3. A row's offset is that of the first row at or after it that has entries.
        for item in 0..ITEMS {
            let place = (item * BLOCK) as u32 + thread::index();
            if first + u64::from(place) < self.len {
                let before = if place == 0 { 0 } else { marks.count_to(place - 1) };
                let offset = self.filled_offsets.load(begin as usize + before as usize);
                self.row_offsets.store((first + u64::from(place)) as usize, offset);
            }
        }
    }
}
