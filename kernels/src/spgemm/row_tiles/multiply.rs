//! The entries of C, by tiles of whole rows.
use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Arithmetic, Global, GlobalMut, Shared};

use super::expansion::{Expansion, RowTile};
use crate::block::count_scan::CountScan;
use crate::block::numbered_bits::NumberedBits;
use crate::block::operator::{Sum, Summary};
use crate::block::pair_search::PairSearch;
use crate::block::radix_rank::{RadixKey, RadixRank};
use crate::block::radix_sort::{warp_striped, RadixSort};
use crate::block::tile_prefix::{self, clear_stale, entry_words, TilePrefix};
use crate::spgemm::product_keys::ProductKeys;
use crate::{GlobalCsr, Offset};

kernel! {
    /// Computes C, with the row offsets and sorted columns: one block per tile, tiles in the order in which blocks start.
    ///
    /// Tile `t` has the rows before which there are at least `t * tile_products` products and fewer than
    /// `(t + 1) * tile_products`. No tile may have more products than a block has items: `tile_products` and the longest row's
    /// together are at most one more.
    pub struct MultiplyTiles<V: Arithmetic, O: Offset> {
        /// A.
        pub a: GlobalCsr<V, O>,
        /// B, whose columns ascend within rows; it has fewer than 2³² nonzeros.
        pub b: GlobalCsr<V, O>,
        /// The products before each row, and at the end all of them, as [`CountProducts`](super::CountProducts) counts them.
        pub before: Global<u32>,
        /// [`multiply_state_words`] words, all zero.
        pub state: GlobalMut<u64>,
        /// Output: the number of entries of C. The host may read it while the kernel runs.
        pub results: GlobalMut<u64>,
        /// Output: words that are set to zero, those that another launch has used.
        pub stale: GlobalMut<u64>,
        /// Their number.
        pub stale_words: u32,
        /// Output: the row offsets of C.
        pub row_offsets: GlobalMut<O>,
        /// Output: the columns of C, with room for as many entries as there are.
        pub column_indices: GlobalMut<u32>,
        /// Output: the values of C, as many.
        pub values: GlobalMut<V>,
        /// Products per tile, beside those by which the last row of a tile exceeds it.
        pub tile_products: u32,
    }
    shared: 0;
    body: MultiplyTiles::multiply_tiles::<BLOCK, ITEMS>;
    entry: spgemm_multiply_{B}_{V}_{O} in spgemm_row_tiles_{V}:
        (B, R) in [(256 as tiles, 2), (512 as large_tiles, 1)], V in [f32, f64], O in [u32, u64], B x 8 resident R;
}

/// Words of state of [`MultiplyTiles`] for `tiles` tiles.
pub const fn multiply_state_words(tiles: u32) -> usize {
    tile_prefix::state_words(tiles as usize, entry_words(4, false))
}

/// Bytes of shared memory of a block of [`MultiplyTiles`], for `block` threads and `items` items per thread.
pub const fn shared_bytes(block: usize, items: usize) -> u32 {
    let (warps, len) = (block / thread::WARP_SIZE as usize, block * items);
    let words = len / thread::WARP_SIZE as usize;
    // The keys, the lists of entries, three kinds of marks; for each warp three scans, a search and a range of columns.
    let sort = RadixRank::<128>::bytes_for(block) + 2 * len * 8 + 3 * 2 * words * 4;
    (sort + warps * (8 + 4 + 4 + 8 + 8) + 2 * 4 + 16) as u32
}

/// Shared memory of a block.
#[derive(Clone, Copy)]
struct TileBlock<V, const BLOCK: usize, const ITEMS: usize> {
    expansion: Expansion<BLOCK, ITEMS>,
    /// Sorted places where an entry of C begins.
    heads: NumberedBits<BLOCK, ITEMS>,
    scan: CountScan<u32, BLOCK>,
    /// Memory for [`ProductKeys::find`].
    ranges: Shared<u32>,
    before_word: Shared<u32>,
    /// The factors of the sorted products, in the memory of the sort and of the lists of entries.
    left: Shared<V>,
    right: Shared<V>,
}

/// Sorted products of a thread.
struct ThreadProducts<V, const ITEMS: usize> {
    columns: [u32; ITEMS],
    left: [V; ITEMS],
    right: [V; ITEMS],
    /// A bit for each that begins an entry.
    heads: u32,
}

impl<V: Arithmetic, O: Offset> MultiplyTiles<V, O> {
    #[device]
    fn multiply_tiles<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        // 1. Lay out shared memory.
        let mut arena = Arena::dynamic(shared_bytes(BLOCK, ITEMS));
        let sort_memory = arena;
        let wide = RadixSort::<u64, BLOCK, ITEMS>::take(&mut arena);
        let mut lists = arena;
        let expansion = Expansion::<BLOCK, ITEMS>::take(&mut arena);
        let search = PairSearch::<BLOCK>::take(&mut arena);
        let number_word = arena.take(1);
        let block = TileBlock::<V, BLOCK, ITEMS> {
            expansion,
            heads: NumberedBits::take(&mut arena),
            scan: CountScan::take(&mut arena),
            ranges: arena.take(ProductKeys::range_len(BLOCK)),
            before_word: arena.take(1),
            left: { sort_memory }.take(BLOCK * ITEMS),
            right: lists.take(BLOCK * ITEMS),
        };

        // 2. Find the tile, and the entries that make its products.
        let tiles = thread::grid_size();
        let prefix = TilePrefix::new(self.state, tiles);
        let probed = RowTile::probe::<BLOCK>(self.before, self.a.rows);
        let number = prefix.draw(number_word);
        let bounds = (number * self.tile_products, (number + 1) * self.tile_products);
        let tile = RowTile::find(search, self.before, self.a.rows, bounds, probed);
        let patterns = (self.a.pattern(), self.b.pattern());
        let row_count = expansion.number(tile, self.before, patterns);
        let columns = expansion.columns(tile, self.b.column_indices.natural());
        let keys = ProductKeys::find::<BLOCK, ITEMS>(block.ranges, tile.len, &columns, row_count);

        // 3. Sort them, with 32-bit keys if these suffice, and find their factors.
        let values = (self.a.values.natural(), self.b.values.natural());
        let sorted = if keys.bits + RadixSort::<u32, BLOCK, ITEMS>::PLACE_BITS <= u32::BITS {
            let narrow = RadixSort::<u32, BLOCK, ITEMS>::take(&mut { sort_memory });
            block.sort(narrow, tile, &columns, keys, values)
        } else {
            block.sort(wide, tile, &columns, keys, values)
        };

        // 4. Number the entries, publish how many there are, and find how many are before.
        let entries = block.heads.number(block.scan);
        let total = Summary::<u32, Sum>::new(entries, 0);
        if thread::index() == 0 {
            prefix.publish_own(number, total);
        }
        block.stage(&sorted);
        prefix.store_exclusive(number, total, block.before_word);
        thread::barrier();

        // 5. Add up the products of each entry, and store the tile.
        let before = block.before_word.load(0);
        block.store(
            tile,
            &sorted,
            self.column_indices.skip(before as usize),
            self.values.skip(before as usize),
        );
        self.store_row_offsets(tile, before, block.heads);
        if number + 1 == tiles && thread::index() == 0 {
            let all = u64::from(before + entries);
            self.row_offsets.store(self.a.rows as usize, O::from_bits(all));
            self.results.atomic_store(0, all, Ordering::Relaxed, Scope::System);
        }
        clear_stale::<BLOCK>(self.stale, self.stale_words, number);
    }

    /// Stores where the tile's rows begin in C. The products of a row keep their places among all when they are sorted.
    #[device(track_caller)]
    fn store_row_offsets<const BLOCK: usize, const ITEMS: usize>(
        &self,
        tile: RowTile,
        before: u32,
        heads: NumberedBits<BLOCK, ITEMS>,
    ) {
        let mut row = tile.first_row + thread::index();
        while row < tile.end_row {
            let place = self.before.load(row as usize) - tile.first;
            let in_tile = if place == 0 { 0 } else { heads.count_to(place - 1) };
            self.row_offsets.store(row as usize, O::from_bits(u64::from(before + in_tile)));
            row += BLOCK as u32;
        }
    }
}

impl<V: Arithmetic, const BLOCK: usize, const ITEMS: usize> TileBlock<V, BLOCK, ITEMS> {
    /// Sorts the products, marks those that begin an entry, and loads the factors of all.
    #[device(track_caller)]
    fn sort<K: RadixKey>(
        self,
        sort: RadixSort<K, BLOCK, ITEMS>,
        tile: RowTile,
        columns: &[u32; ITEMS],
        keys: ProductKeys,
        (a_values, b_values): (Global<V>, Global<V>),
    ) -> ThreadProducts<V, ITEMS> {
        let mut own = keys.of(tile.len, columns, |place| self.expansion.row(place));
        sort.sort_keys(&mut own, 0, keys.bits);
        let all = sort.sorted();
        let mut sorted =
            ThreadProducts { columns: [0; ITEMS], left: [V::ZERO; ITEMS], right: [V::ZERO; ITEMS], heads: 0 };
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item);
            let key = own[item].low_bits(keys.bits);
            let before = all.load(if place == 0 { 0 } else { place - 1 }).low_bits(keys.bits);
            let is_product = (place as u32) < tile.len;
            let is_head = is_product && (place == 0 || key != before);
            self.heads.set_word(item, warp::ballot(warp::FULL, is_head));
            sorted.heads |= u32::from(is_head) << item;
            let distance = key.low_bits(keys.column_bits).to_bits() as u32;
            // The distance of padding may wrap around.
            sorted.columns[item] = keys.least.wrapping_add(distance);
        }
        for item in 0..ITEMS {
            if (warp_striped::<ITEMS>(item) as u32) < tile.len {
                let (a_entry, b_entry) = self.expansion.factors(own[item].bits_from(keys.bits));
                sorted.left[item] = a_values.load(a_entry);
                sorted.right[item] = b_values.load(b_entry);
            }
        }
        sorted
    }

    /// Puts the factors into shared memory, where the keys and lists of entries were. It needs a barrier before it and
    /// one after it.
    #[device(track_caller)]
    fn stage(self, sorted: &ThreadProducts<V, ITEMS>) {
        for item in 0..ITEMS {
            self.left.store(warp_striped::<ITEMS>(item), sorted.left[item]);
            self.right.store(warp_striped::<ITEMS>(item), sorted.right[item]);
        }
    }

    /// Adds up the products of each entry in their order, and stores the entries.
    #[device(track_caller)]
    fn store(
        self,
        tile: RowTile,
        sorted: &ThreadProducts<V, ITEMS>,
        column_indices: GlobalMut<u32>,
        values: GlobalMut<V>,
    ) {
        for item in 0..ITEMS {
            if sorted.heads >> item & 1 != 0 {
                let first = warp_striped::<ITEMS>(item) as u32;
                let entry = self.heads.count_to(first) as usize - 1;
                let end = self.heads.next_after(first, tile.len);
                let mut sum = V::ZERO;
                let mut place = first;
                while place < end {
                    sum = self.left.load(place as usize).fma(self.right.load(place as usize), sum);
                    place += 1;
                }
                column_indices.store(entry, sorted.columns[item]);
                values.store(entry, sum);
            }
        }
    }
}
