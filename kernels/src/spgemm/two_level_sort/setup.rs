//! Setup: counts the products of A's entries, and lists the entries that make any.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Element, Global, GlobalMut, Shared};

use crate::block::search::partition_point;
use crate::{GlobalPattern, Offset};

/// One entry in the upper half of a weight; the lower half counts its products.
const ENTRY: u64 = 1 << 32;

kernel! {
    /// Weighs each entry of some rows of A: the weight is the length of the row of B that its column names, plus 2³² if that is
    /// not zero. Exclusive sums of weights then have the number of products before an entry in the lower half, and the number
    /// of entries with products before it in the upper half.
    pub struct WeighEntries<O: Offset> {
        /// The column indices of the `len` entries.
        pub column_indices: Global<u32>,
        /// B.
        pub b: GlobalPattern<O>,
        /// Output: the weights, `len` + 1; the last is zero.
        pub weights: GlobalMut<u64>,
        /// Output: the number of products, and of entries that make any; zero before.
        pub totals: GlobalMut<u64>,
        /// The number of entries. Sums of weights are valid if there are fewer than 2³² products.
        pub len: u32,
    }
    shared: 2 * BLOCK / thread::WARP_SIZE as usize * u64::SIZE;
    body: WeighEntries::weigh_entries::<BLOCK, ITEMS>;
    entry: spgemm_weigh_entries_{O} in spgemm_two_level_sort: O in [u32, u64], 256 x 8;
}

impl<O: Offset> WeighEntries<O> {
    #[device]
    fn weigh_entries<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        const WARP: usize = thread::WARP_SIZE as usize;
        let sums: Shared<u64> = arena.take(2 * BLOCK / WARP);
        let entry =
            |item: usize| (thread::block() as usize * ITEMS + item) * BLOCK + thread::index() as usize;
        let mut rows = [0; ITEMS];
        for item in 0..ITEMS {
            if entry(item) < self.len as usize {
                rows[item] = self.column_indices.load_streaming(entry(item)) as usize;
            }
        }
        let mut products = [0; ITEMS];
        for item in 0..ITEMS {
            if entry(item) < self.len as usize {
                let offsets = self.b.row_offsets;
                products[item] = offsets.load(rows[item] + 1).to_bits() - offsets.load(rows[item]).to_bits();
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
    /// Lists the entries of A that make products, by the exclusive sums of the weights of [`WeighEntries`], and finds the one
    /// that makes the first product of each tile.
    pub struct ListEntries<O: Offset> {
        /// The exclusive sums, `len` + 1.
        pub sums: Global<u64>,
        /// The rows of A with these entries, and all its column indices.
        pub a: GlobalPattern<O>,
        /// The column indices of the `len` entries.
        pub column_indices: Global<u32>,
        /// B.
        pub b: GlobalPattern<O>,
        /// Output: the first product of each listed entry, and the number of products at the end.
        pub first_products: GlobalMut<u32>,
        /// Output: the offset from a product's number to the index of its entry of B, for each listed entry; may wrap around.
        pub sources: GlobalMut<O>,
        /// Output: the row of each listed entry, relative to the first row.
        pub rows: GlobalMut<u32>,
        /// Output: the index of each listed entry among the `len` entries.
        pub numbers: GlobalMut<u32>,
        /// Output: the listed entry that makes the first product of each tile, and their number at the end.
        pub tile_begins: GlobalMut<u32>,
        /// The number of entries.
        pub len: u32,
        /// Products per tile.
        pub tile_len: u32,
    }
    shared: 0;
    body: ListEntries::list_entries::<BLOCK>;
    entry: spgemm_list_entries_{O} in spgemm_two_level_sort: O in [u32, u64], 256 x 1;
}

impl<O: Offset> ListEntries<O> {
    #[device]
    fn list_entries<const BLOCK: usize>(self, _: Arena) {
        let entry = thread::global_index::<BLOCK>();
        if entry > self.len as usize {
            return;
        }
        let sum = self.sums.load(entry);
        let (first, listed) = (sum as u32, (sum / ENTRY) as usize);
        if entry == self.len as usize {
            self.first_products.store(listed, first);
            self.tile_begins.store(first.div_ceil(self.tile_len) as usize, listed as u32);
            return;
        }
        let end = self.sums.load(entry + 1) as u32;
        if first == end {
            return;
        }
        let begin = self.b.row_offsets.load(self.column_indices.load_streaming(entry) as usize).to_bits();
        self.first_products.store(listed, first);
        self.sources.store(listed, O::from_bits(begin.wrapping_sub(u64::from(first))));
        self.rows.store(listed, row_of(self.a, entry));
        self.numbers.store(listed, entry as u32);
        let mut tile = first.div_ceil(self.tile_len);
        while tile * self.tile_len < end {
            self.tile_begins.store(tile as usize, listed as u32);
            tile += 1;
        }
    }
}

/// Returns the row of an entry: the last one that begins at or before it.
#[device(track_caller)]
fn row_of<O: Offset>(rows: GlobalPattern<O>, entry: usize) -> u32 {
    let nonzero = rows.row_offsets.load(0).to_usize() + entry;
    let begin = |row: u32| rows.row_offsets.load(row as usize).to_usize();
    partition_point(1, rows.rows, |row| begin(row) <= nonzero) - 1
}
