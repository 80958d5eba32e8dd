//! Products in which some rows of C are computed elsewhere: these are taken from the analysis, and their lengths put there.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Global, GlobalMut, Shared};

use super::row_wise::{ClassLimits, Spans, CLASSES};
use crate::block::count_scan::CountScan;
use crate::block::lookback::{Lookback, Tickets};

const _: () = assert!(CLASSES <= u32::BITS as usize, "a word has a bit for each class");

kernel! {
    /// Lists the rows of some classes, in order, and sets their sizes to zero: one thread per row.
    pub struct SpgemmTakeRows {
        /// The size of each row.
        pub sizes: GlobalMut<u64>,
        /// The columns that each row spans.
        pub spans: Spans,
        /// Output: the rows.
        pub taken: GlobalMut<u32>,
        /// The sum of their sizes, an output; a ticket; and a word per block. All are zero before.
        pub states: GlobalMut<u64>,
        /// A bit for each class, set where its rows are taken.
        pub classes: u32,
        /// The number of rows.
        pub rows: u32,
        /// [`ClassLimits::always_hash`].
        pub always_hash: u32,
        /// [`ClassLimits::columns_an_entry`].
        pub columns_an_entry: u32,
    }
    shared: CountScan::<u32, BLOCK>::BYTES + 8;
    body: SpgemmTakeRows::take_rows::<BLOCK>;
    entry: spgemm_take_rows in spgemm_mixed: 256 x 1;
}

impl SpgemmTakeRows {
    #[device]
    fn take_rows<const BLOCK: usize>(self, mut arena: Arena) {
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let shared: Shared<u32> = arena.take(2);
        let tile = Tickets::new(self.states.skip(1)).draw_for_block(shared);
        let row = tile as usize * BLOCK + thread::index() as usize;
        let mut size = 0;
        if row < self.rows as usize {
            let limits =
                ClassLimits { always_hash: self.always_hash, columns_an_entry: self.columns_an_entry };
            size = self.sizes.load(row);
            let class = limits.class_of(size, self.spans.width(row));
            size = if self.classes >> class & 1 != 0 { size } else { 0 };
        }
        // No row without products is taken.
        let counted = scan.exclusive(u32::from(size > 0));
        Lookback::new(self.states.skip(2)).store_prefix(tile, counted.total, shared.skip(1));
        thread::barrier();
        if size > 0 {
            self.taken.store((shared.load(1) + counted.before) as usize, row as u32);
            self.sizes.store(row, 0);
        }
        let total = warp::reduce_add(size);
        if thread::lane() == 0 && total > 0 {
            self.states.fetch_add(0, total, Ordering::Relaxed, Scope::Device);
        }
    }
}

kernel! {
    /// Writes the lengths of listed rows, whose offsets are given: one thread per row.
    pub struct SpgemmPlaceLengths {
        /// The listed rows.
        pub list: Global<u32>,
        /// Their offsets, one more.
        pub offsets: Global<u64>,
        /// Output: the length of each row of C, of which those of the listed rows are written.
        pub lengths: GlobalMut<u64>,
        /// The length of the list.
        pub len: u32,
    }
    shared: 0;
    body: SpgemmPlaceLengths::place_lengths::<BLOCK>;
    entry: spgemm_place_lengths in spgemm_mixed: 256 x 1;
}

impl SpgemmPlaceLengths {
    #[device]
    fn place_lengths<const BLOCK: usize>(self, _: Arena) {
        let index = thread::global_index::<BLOCK>();
        if index < self.len as usize {
            let length = self.offsets.load(index + 1) - self.offsets.load(index);
            self.lengths.store(self.list.load(index) as usize, length);
        }
    }
}
