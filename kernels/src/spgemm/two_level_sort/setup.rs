//! Setup: how many products the entries of A make, and which of them make any.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, thread, warp, Arena, Element, Global, GlobalMut, Shared};

use crate::Offset;

/// In a weight, one entry that makes products; below it, the products.
const ENTRY: u64 = 1 << 32;

kernel! {
    /// Weighs each entry of some rows of A: the length of the row of B that its column names, and 2³² where that is not
    /// zero. Exclusive sums of weights then have the products before an entry in their low half, and the entries with
    /// products before it in the high one.
    pub struct WeighEntries<O: Offset> {
        /// The entries' columns, `len`.
        pub columns: Global<u32>,
        /// Row offsets of B.
        pub b_offsets: Global<O>,
        /// Output: the weights, `len` + 1; the last is zero.
        pub weights: GlobalMut<u64>,
        /// Output: all products, and the entries that make any; zero before.
        pub totals: GlobalMut<u64>,
        /// Entries. Sums of weights are of use where there are fewer than 2³² products.
        pub len: u32,
    }
    shared: 2 * BLOCK / thread::WARP_SIZE as usize * u64::SIZE;
    body: WeighEntries::weigh_entries::<BLOCK, ITEMS>;
    entries: {
        spgemm_weigh_entries_u32 in spgemm_two_level_sort: <O = u32>, 256 x 8;
        spgemm_weigh_entries_u64 in spgemm_two_level_sort: <O = u64>, 256 x 8;
    }
}

impl<O: Offset> WeighEntries<O> {
    #[inline(always)]
    #[allow(clippy::needless_range_loop)] // Iterators over arrays leave registers for local memory.
    fn weigh_entries<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        const WARP: usize = thread::WARP_SIZE as usize;
        let sums: Shared<u64> = arena.take(2 * BLOCK / WARP);
        let entry =
            |item: usize| (thread::block() as usize * ITEMS + item) * BLOCK + thread::index() as usize;
        let mut rows = [0; ITEMS];
        for item in 0..ITEMS {
            if entry(item) < self.len as usize {
                rows[item] = self.columns.load_streaming(entry(item)) as usize;
            }
        }
        let mut products = [0; ITEMS];
        for item in 0..ITEMS {
            if entry(item) < self.len as usize {
                products[item] =
                    self.b_offsets.load(rows[item] + 1).to_bits() - self.b_offsets.load(rows[item]).to_bits();
            }
        }
        let (mut own_products, mut own_entries) = (0, 0);
        for item in 0..ITEMS {
            let makes_any = products[item] > 0;
            if entry(item) <= self.len as usize {
                self.weights.store(entry(item), products[item] + if makes_any { ENTRY } else { 0 });
            }
            own_products += products[item];
            own_entries += u64::from(makes_any);
        }
        let own = [warp::reduce_add(own_products), warp::reduce_add(own_entries)];
        if thread::lane() == 0 {
            sums.store(thread::warp() as usize, own[0]);
            sums.store(BLOCK / WARP + thread::warp() as usize, own[1]);
        }
        thread::barrier();
        if thread::index() < 2 {
            let mut total = 0;
            for warp in 0..BLOCK / WARP {
                total += sums.load(thread::index() as usize * (BLOCK / WARP) + warp);
            }
            self.totals.fetch_add(thread::index() as usize, total, Ordering::Relaxed, Scope::Device);
        }
    }
}

kernel! {
    /// Lists the entries of A that make products, by the exclusive sums of [`WeighEntries`]' weights, and finds the one
    /// that makes the first product of each tile.
    pub struct ListEntries<O: Offset> {
        /// The exclusive sums, `len` + 1.
        pub sums: Global<u64>,
        /// The entries' columns, `len`.
        pub columns: Global<u32>,
        /// Row offsets of A, from the first row on whose entries these are, `rows` + 1.
        pub a_offsets: Global<O>,
        /// Row offsets of B.
        pub b_offsets: Global<O>,
        /// Output: the first product of each listed entry, and the number of products at the end.
        pub first_products: GlobalMut<u32>,
        /// Output: what, added to the number of one of its products, gives the nonzero of B that makes it; may wrap.
        pub sources: GlobalMut<O>,
        /// Output: the row of each, counted from the first.
        pub entry_rows: GlobalMut<u32>,
        /// Output: which of the `len` entries each is.
        pub entries: GlobalMut<u32>,
        /// Output: the entry listed that makes the first product of each tile, and their number at the end.
        pub tile_entries: GlobalMut<u32>,
        /// Entries.
        pub len: u32,
        /// Rows that have these entries.
        pub rows: u32,
        /// Products of a tile.
        pub tile_len: u32,
    }
    shared: 0;
    body: ListEntries::list_entries::<BLOCK>;
    entries: {
        spgemm_list_entries_u32 in spgemm_two_level_sort: <O = u32>, 256 x 1;
        spgemm_list_entries_u64 in spgemm_two_level_sort: <O = u64>, 256 x 1;
    }
}

impl<O: Offset> ListEntries<O> {
    #[inline(always)]
    fn list_entries<const BLOCK: usize>(self, _: Arena) {
        let entry = thread::block() as usize * BLOCK + thread::index() as usize;
        if entry > self.len as usize {
            return;
        }
        let sum = self.sums.load(entry);
        let (first, listed) = (sum as u32, (sum / ENTRY) as usize);
        if entry == self.len as usize {
            self.first_products.store(listed, first);
            self.tile_entries.store(first.div_ceil(self.tile_len) as usize, listed as u32);
            return;
        }
        let end = self.sums.load(entry + 1) as u32;
        if first == end {
            return;
        }
        let begin = self.b_offsets.load(self.columns.load_streaming(entry) as usize).to_bits();
        self.first_products.store(listed, first);
        self.sources.store(listed, O::from_bits(begin.wrapping_sub(u64::from(first))));
        self.entry_rows.store(listed, row_of(self.a_offsets, self.rows, entry));
        self.entries.store(listed, entry as u32);
        let mut tile = first.div_ceil(self.tile_len);
        while tile * self.tile_len < end {
            self.tile_entries.store(tile as usize, listed as u32);
            tile += 1;
        }
    }
}

/// The row of an entry: the last that begins at it or before.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn row_of<O: Offset>(a_offsets: Global<O>, rows: u32, entry: usize) -> u32 {
    let nonzero = a_offsets.load(0).to_usize() + entry;
    // Of `left` rows from `low` on, it is one.
    let (mut low, mut left) = (0, rows);
    while left > 1 {
        let half = left / 2;
        let behind = a_offsets.load((low + half) as usize).to_usize() > nonzero;
        low = if behind { low } else { low + half };
        left = if behind { half } else { left - half };
    }
    low
}
