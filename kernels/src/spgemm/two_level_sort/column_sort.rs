//! Block sort as it was published: the products of a tile are sorted by column alone, and the entries of all tiles go to the global
//! sort.
use evenpath_simt::{device, kernel, thread, warp, Arena, Global, GlobalMut, Shared};

use super::block_sort::{shared_bytes, SortBlock, BEGINS_ENTRY, TILE_WORDS};
use super::expansion::{ListedEntries, ProductTile};
use crate::block::radix_rank::RadixKey;
use crate::block::radix_sort::{warp_striped, RadixSort};
use crate::spgemm::product_keys::ProductKeys;
use crate::{GlobalPattern, Offset};

kernel! {
    /// Sorts the products of each tile by column, and compacts them to entries: one block per tile.
    ///
    /// Products come in the order of A's entries, so their rows ascend, and the sort is stable: those with the same row and column
    /// become neighbors. Keys have as many bits as the tile's columns differ in; the remaining bits hold the place of each product.
    pub struct SortProductsByColumn<O: Offset> {
        /// The listed entries of A.
        pub entries: ListedEntries<O>,
        /// B.
        pub b: GlobalPattern<O>,
        /// Output: the original place of each sorted product in its tile, and a bit for the first of each entry; whole tiles.
        pub permutation: GlobalMut<u16>,
        /// Output: the columns of each tile's entries, starting at the tile's first place.
        pub columns: GlobalMut<u32>,
        /// Output: their rows.
        pub rows: GlobalMut<u32>,
        /// Output: [`TILE_WORDS`] words per tile; all entries are in rows that began earlier.
        pub tiles: GlobalMut<u32>,
        /// Output: the number of entries of each tile.
        pub counts: GlobalMut<u32>,
    }
    shared: 0;
    body: SortProductsByColumn::sort_products::<BLOCK, ITEMS>;
    entry: spgemm_sort_products_by_column_{O} in spgemm_column_sort: (O, R) in [(u32, 4), (u64, 0)], 256 x 8 resident R;
}

impl<O: Offset> SortProductsByColumn<O> {
    #[device]
    fn sort_products<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        // 1. Expand the tile's products, and find how many bits tell their columns apart.
        let (block, sort_memory, wide) =
            SortBlock::<BLOCK, ITEMS>::take(&mut Arena::dynamic(shared_bytes(BLOCK, ITEMS)));
        let tile = self.entries.tile((BLOCK * ITEMS) as u32);
        block.number_entries(tile, self.entries);
        let own_columns = block.expand(tile, self.entries.sources, self.b.column_indices.natural());
        let keys = ProductKeys::find::<BLOCK, ITEMS>(block.ranges, tile.len, &own_columns, 1);
        // 2. Sort them, with 32-bit keys if these suffice, and store the entries.
        if keys.bits + RadixSort::<u32, BLOCK, ITEMS>::PLACE_BITS <= u32::BITS {
            let narrow = RadixSort::<u32, BLOCK, ITEMS>::take(&mut { sort_memory });
            self.sort(block, narrow, tile, keys.of(tile.len, &own_columns, |_| 0), keys);
        } else {
            self.sort(block, wide, tile, keys.of(tile.len, &own_columns, |_| 0), keys);
        }
    }

    /// Sorts the products and stores the tile's outputs.
    #[device(track_caller)]
    fn sort<K: RadixKey, const BLOCK: usize, const ITEMS: usize>(
        self,
        block: SortBlock<BLOCK, ITEMS>,
        sort: RadixSort<K, BLOCK, ITEMS>,
        tile: ProductTile,
        mut own_keys: [K; ITEMS],
        keys: ProductKeys,
    ) {
        sort.sort_keys(&mut own_keys, 0, keys.bits);
        let sorted = sort.sorted();
        let heads = self.find_heads(block, tile, sorted, keys);
        let count = block.heads.number(block.scan);
        self.store_entries(block, tile, sorted, keys, heads);
        if thread::index() == 0 {
            let words = self.tiles.skip(thread::block() as usize * TILE_WORDS);
            words.store(0, count);
            words.store(1, count);
            words.store(2, 0);
            words.store(3, 0);
            self.counts.store(thread::block() as usize, count);
        }
    }

    /// Returns a bit for each of this thread's sorted products that begins an entry, marks these, without numbering them, and stores
    /// the permutation.
    #[device(track_caller)]
    fn find_heads<K: RadixKey, const BLOCK: usize, const ITEMS: usize>(
        self,
        block: SortBlock<BLOCK, ITEMS>,
        tile: ProductTile,
        sorted: Shared<K>,
        keys: ProductKeys,
    ) -> u32 {
        let own_permutation = self.permutation.skip(tile.first as usize + warp_striped::<ITEMS>(0));
        let mut heads = 0;
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item);
            let own = sorted.load(place);
            let before = sorted.load(if place == 0 { 0 } else { place - 1 });
            let is_product = (place as u32) < tile.len;
            let is_head = is_product
                && (place == 0 || {
                    let new_column = own.low_bits(keys.bits) != before.low_bits(keys.bits);
                    let row = |key: K| block.rows.count_to(key.bits_from(keys.bits));
                    new_column || row(own) != row(before)
                });
            heads |= u32::from(is_head) << item;
            block.heads.set_word(item, warp::ballot(warp::FULL, is_head));
            // The first padding begins an entry of its own, which is not stored.
            let mark = if is_head || place as u32 == tile.len { BEGINS_ENTRY } else { 0 };
            own_permutation.store(item * thread::WARP_SIZE as usize, own.bits_from(keys.bits) as u16 | mark);
        }
        heads
    }

    /// Stores the columns and rows of entries.
    #[device(track_caller)]
    fn store_entries<K: RadixKey, const BLOCK: usize, const ITEMS: usize>(
        self,
        block: SortBlock<BLOCK, ITEMS>,
        tile: ProductTile,
        sorted: Shared<K>,
        keys: ProductKeys,
        heads: u32,
    ) {
        let (columns, rows) = (self.columns.skip(tile.first as usize), self.rows.skip(tile.first as usize));
        for item in 0..ITEMS {
            if heads >> item & 1 != 0 {
                let place = warp_striped::<ITEMS>(item);
                let own = sorted.load(place);
                let entry = block.heads.count_to(place as u32) as usize - 1;
                let maker = block.entries.count_to(own.bits_from(keys.bits)) as usize - 1;
                columns.store(entry, keys.least + own.low_bits(keys.column_bits).to_bits() as u32);
                rows.store(entry, self.entries.rows.load(tile.first_entry + maker));
            }
        }
    }
}

kernel! {
    /// Collects the entries of all tiles as keys, with the row above the column: one block per tile.
    pub struct CollectEntries<K: RadixKey> {
        /// The columns of each tile's entries, starting at the tile's first product.
        pub columns: Global<u32>,
        /// Their rows.
        pub rows: Global<u32>,
        /// The number of entries before each tile's, and of all at the end.
        pub begins: Global<u32>,
        /// Output: the keys, in the order of tiles.
        pub keys: GlobalMut<K>,
        /// Output: 0, 1, 2, …; sorted along, they tell where each entry came from.
        pub numbers: GlobalMut<u32>,
        /// Bits of a column.
        pub column_bits: u32,
        /// Products per tile.
        pub tile_len: u32,
    }
    shared: 0;
    body: CollectEntries::collect_entries::<BLOCK>;
    entry: spgemm_collect_entries_{K} in spgemm_column_sort: K in [u32, u64], 256 x 1;
}

impl<K: RadixKey> CollectEntries<K> {
    #[device]
    fn collect_entries<const BLOCK: usize>(self, _: Arena) {
        let Self { columns, rows, begins, keys, numbers, column_bits, tile_len } = self;
        let tile = thread::block() as usize;
        let (begin, end) = (begins.load(tile), begins.load(tile + 1));
        let first = tile * tile_len as usize;
        let (columns, rows) = (columns.skip(first), rows.skip(first));
        let (keys, numbers) = (keys.skip(begin as usize), numbers.skip(begin as usize));
        thread::block_stride::<BLOCK>(end - begin, |entry| {
            let column = K::from_bits(u64::from(columns.load(entry as usize)));
            keys.store(entry as usize, column.with_bits(rows.load(entry as usize), column_bits));
            numbers.store(entry as usize, begin + entry);
        });
    }
}
