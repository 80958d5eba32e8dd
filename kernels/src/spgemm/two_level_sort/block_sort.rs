//! Block sort: sorts the products of each tile by row and column, and makes one entry of those that are equal.
use evenpath_simt::{device, kernel, thread, warp, Arena, Element, Global, GlobalMut, Shared};

use super::expansion::{ListedEntries, ProductTile};
use crate::block::count_scan::CountScan;
use crate::block::numbered_bits::NumberedBits;
use crate::block::radix_rank::{RadixKey, RadixRank};
use crate::block::radix_sort::{warp_striped, RadixSort};
use crate::spgemm::product_keys::ProductKeys;
use crate::{GlobalPattern, Offset};

/// The bit of a permutation's element that marks the first product of an entry. The lower bits are the product's place.
pub(super) const BEGINS_ENTRY: u16 = 1 << 15;

/// Words of information on a tile: the number of its entries; of those in a row that began in an earlier tile, which come
/// first; and of those in a row that continues in the next tile, which come last; then the first row that is neither, if any.
pub const TILE_WORDS: usize = 4;

/// Bytes of shared memory of a block of [`SortProducts`], for `block` threads and `items` items per thread.
pub const fn shared_bytes(block: usize, items: usize) -> u32 {
    let (warps, words) = (block / thread::WARP_SIZE as usize, block * items / thread::WARP_SIZE as usize);
    let sort = RadixRank::<128>::bytes_for(block) + (block * items + 1) * u64::SIZE;
    // Ranges and the scan per warp; three kinds of marks.
    (sort + warps * (8 + 4) + 3 * 2 * words * 4) as u32
}

kernel! {
    /// Sorts the products of each tile by row and column, and compacts them to entries: products with the same row and column
    /// become one entry. One block per tile.
    ///
    /// Products come in the order of A's entries, so their rows ascend. Keys have as many bits as the tile's columns and rows
    /// differ in, the row above the column; the remaining bits hold the place of each product.
    pub struct SortProducts<O: Offset> {
        /// The listed entries of A.
        pub entries: ListedEntries<O>,
        /// B.
        pub b: GlobalPattern<O>,
        /// Output: the original place of each sorted product in its tile, and [`BEGINS_ENTRY`]; whole tiles.
        pub permutation: GlobalMut<u16>,
        /// Output: the columns of each tile's entries, starting at the tile's first place.
        pub columns: GlobalMut<u32>,
        /// Output: [`TILE_WORDS`] words per tile.
        pub tiles: GlobalMut<u32>,
        /// Output: the number of entries of each tile in rows that are cut by its ends.
        pub cut_counts: GlobalMut<u32>,
        /// Output: the number of entries of each row that is not cut; others are not written.
        pub row_counts: GlobalMut<u32>,
    }
    shared: 0;
    body: SortProducts::sort_products::<BLOCK, ITEMS>;
    entry: spgemm_sort_products_{O} in spgemm_two_level_sort: (O, R) in [(u32, 4), (u64, 0)], 256 x 8 resident R;
}

impl<O: Offset> SortProducts<O> {
    #[device]
    fn sort_products<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        // 1. Lay out shared memory.
        let (block, sort_memory, wide) =
            SortBlock::<BLOCK, ITEMS>::take(&mut Arena::dynamic(shared_bytes(BLOCK, ITEMS)));
        // 2. Expand the tile's products, and find how many bits tell them apart.
        let tile = self.entries.tile((BLOCK * ITEMS) as u32);
        let row_count = block.number_entries(tile, self.entries);
        let own_columns = block.expand(tile, self.entries.sources, self.b.column_indices.natural());
        let keys = ProductKeys::find::<BLOCK, ITEMS>(block.ranges, tile.len, &own_columns, row_count);
        let output = BlockSortOutput {
            permutation: self.permutation,
            columns: self.columns,
            tiles: self.tiles,
            cut_counts: self.cut_counts,
            row_counts: self.row_counts,
            entry_rows: self.entries.rows,
        };
        let sorted = BlockSortKeys { keys, row_count, cut: TileEdges::of(tile, self.entries) };
        // 3. Sort them, with 32-bit keys if these suffice, and store the entries.
        if keys.bits + RadixSort::<u32, BLOCK, ITEMS>::PLACE_BITS <= u32::BITS {
            let narrow = RadixSort::<u32, BLOCK, ITEMS>::take(&mut { sort_memory });
            block.sort(narrow, tile, &own_columns, sorted, output);
        } else {
            block.sort(wide, tile, &own_columns, sorted, output);
        }
    }
}

/// Continuation of a tile's first and last rows in the neighboring tiles.
#[derive(Clone, Copy)]
struct TileEdges {
    before: bool,
    after: bool,
}

impl TileEdges {
    #[device(track_caller)]
    fn of<O: Offset>(tile: ProductTile, all: ListedEntries<O>) -> Self {
        let row = |entry: usize| all.rows.load(entry);
        let before = tile.first > 0
            && (all.first_products.load(tile.first_entry) < tile.first
                || row(tile.first_entry) == row(tile.first_entry - 1));
        let last_entry = tile.first_entry + tile.entries as usize - 1;
        let after = tile.first + tile.len < all.products && row(last_entry) == row(tile.next_entry);
        Self { before, after }
    }
}

/// The keys by which a tile is sorted.
#[derive(Clone, Copy)]
struct BlockSortKeys {
    keys: ProductKeys,
    /// The number of rows of the tile.
    row_count: u32,
    cut: TileEdges,
}

#[derive(Clone, Copy)]
struct BlockSortOutput {
    permutation: GlobalMut<u16>,
    columns: GlobalMut<u32>,
    tiles: GlobalMut<u32>,
    cut_counts: GlobalMut<u32>,
    row_counts: GlobalMut<u32>,
    /// Input: the row of each listed entry.
    entry_rows: Global<u32>,
}

/// Shared memory of a block.
#[derive(Clone, Copy)]
pub(super) struct SortBlock<const BLOCK: usize, const ITEMS: usize> {
    /// Memory for [`ProductKeys::find`].
    pub(super) ranges: Shared<u32>,
    /// Places where an entry of A begins.
    pub(super) entries: NumberedBits<BLOCK, ITEMS>,
    /// Places where a row begins.
    pub(super) rows: NumberedBits<BLOCK, ITEMS>,
    /// Sorted places that begin a new entry.
    pub(super) heads: NumberedBits<BLOCK, ITEMS>,
    pub(super) scan: CountScan<u32, BLOCK>,
    /// First entry of each row of the tile, and an entry of A that makes a product of it, 16 bits each; at the end the
    /// number of entries. They use the memory of the sort's counts.
    row_starts: Shared<u32>,
}

impl<const BLOCK: usize, const ITEMS: usize> SortBlock<BLOCK, ITEMS> {
    /// Takes the block's memory. Returns also the memory of the sort, to be taken again, and the sort with 64-bit keys.
    #[device(track_caller)]
    pub(super) fn take(arena: &mut Arena) -> (Self, Arena, RadixSort<u64, BLOCK, ITEMS>) {
        const { assert!(BLOCK * ITEMS <= BEGINS_ENTRY as usize) };
        // Row starts use the memory of the sort's counts, before the keys.
        const { assert!((BLOCK * ITEMS + 1) * 4 <= RadixRank::<BLOCK>::BYTES) };
        let sort_memory = *arena;
        let wide = RadixSort::take(arena);
        let block = Self {
            ranges: arena.take(ProductKeys::range_len(BLOCK)),
            entries: NumberedBits::take(arena),
            rows: NumberedBits::take(arena),
            heads: NumberedBits::take(arena),
            scan: CountScan::take(arena),
            row_starts: { sort_memory }.take(BLOCK * ITEMS + 1),
        };
        (block, sort_memory, wide)
    }

    /// Numbers the tile's entries of A and their rows. Returns the number of rows.
    #[device(track_caller)]
    pub(super) fn number_entries<O: Offset>(self, tile: ProductTile, entries: ListedEntries<O>) -> u32 {
        self.rows.clear();
        tile.mark(entries.first_products, self.entries, |entry, place| {
            if place == 0 || entries.rows.load(entry) != entries.rows.load(entry - 1) {
                self.rows.set(place);
            }
        });
        self.entries.number(self.scan);
        self.rows.number(self.scan)
    }

    /// Returns the columns of this thread's products, warp-striped.
    #[device(track_caller)]
    pub(super) fn expand<O: Offset>(
        self,
        tile: ProductTile,
        sources: Global<O>,
        b_columns: Global<u32>,
    ) -> [u32; ITEMS] {
        let sources = sources.skip(tile.first_entry);
        let mut nonzeros = [O::ZERO; ITEMS];
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item) as u32;
            if place < tile.len {
                let source = sources.load(self.entries.count_to(place) as usize - 1);
                nonzeros[item] = O::from_bits(source.to_bits().wrapping_add(u64::from(tile.first + place)));
            }
        }
        let mut columns = [0; ITEMS];
        for item in 0..ITEMS {
            if (warp_striped::<ITEMS>(item) as u32) < tile.len {
                columns[item] = b_columns.load(nonzeros[item].to_usize());
            }
        }
        columns
    }

    /// Sorts the products and stores the tile's outputs.
    #[device(track_caller)]
    fn sort<K: RadixKey>(
        self,
        sort: RadixSort<K, BLOCK, ITEMS>,
        tile: ProductTile,
        columns: &[u32; ITEMS],
        sorted: BlockSortKeys,
        output: BlockSortOutput,
    ) {
        let mut keys = sorted.keys.of(tile.len, columns, |place| self.rows.count_to(place) - 1);
        sort.sort_keys(&mut keys, 0, sorted.keys.bits);
        // From here on keys are in shared memory only: each is needed briefly, and all would take many registers.
        let keys = sort.sorted();
        let (heads, row_heads) = self.find_heads(tile, keys, sorted, output.permutation);
        let count = self.heads.number(self.scan);
        self.store_entries(tile, keys, sorted, (heads, row_heads), output.columns);
        if thread::index() == 0 {
            self.row_starts.store(sorted.row_count as usize, count);
        }
        thread::barrier();
        self.count_rows(tile, sorted, output, count);
    }

    /// Returns a bit for each of this thread's sorted products that begins an entry, and for each that begins a row.
    /// Marks the former, without numbering them, and stores the permutation.
    #[device(track_caller)]
    fn find_heads<K: RadixKey>(
        self,
        tile: ProductTile,
        keys: Shared<K>,
        sorted: BlockSortKeys,
        permutation: GlobalMut<u16>,
    ) -> (u32, u32) {
        let own_permutation = permutation.skip(tile.first as usize + warp_striped::<ITEMS>(0));
        let (mut heads, mut row_heads) = (0, 0);
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item);
            let own = keys.load(place);
            let before = keys.load(if place == 0 { 0 } else { place - 1 }).low_bits(sorted.keys.bits);
            let key = own.low_bits(sorted.keys.bits);
            let is_product = (place as u32) < tile.len;
            let head = is_product && (place == 0 || key != before);
            let new_row = key.bits_from(sorted.keys.column_bits) != before.bits_from(sorted.keys.column_bits);
            let row_head = is_product && (place == 0 || new_row);
            heads |= u32::from(head) << item;
            row_heads |= u32::from(row_head) << item;
            self.heads.set_word(item, warp::ballot(warp::FULL, head));
            // The first padding begins an entry of its own, which is not stored.
            let mark = if head || place as u32 == tile.len { BEGINS_ENTRY } else { 0 };
            let product = own.bits_from(sorted.keys.bits) as u16;
            own_permutation.store(item * thread::WARP_SIZE as usize, product | mark);
        }
        (heads, row_heads)
    }

    /// Stores the columns of entries, and where rows begin.
    #[device(track_caller)]
    fn store_entries<K: RadixKey>(
        self,
        tile: ProductTile,
        keys: Shared<K>,
        sorted: BlockSortKeys,
        (heads, row_heads): (u32, u32),
        columns: GlobalMut<u32>,
    ) {
        let columns = columns.skip(tile.first as usize);
        for item in 0..ITEMS {
            if heads >> item & 1 != 0 {
                let place = warp_striped::<ITEMS>(item);
                let own = keys.load(place);
                let entry = self.heads.count_to(place as u32) - 1;
                columns.store(
                    entry as usize,
                    sorted.keys.least + own.low_bits(sorted.keys.column_bits).to_bits() as u32,
                );
                if row_heads >> item & 1 != 0 {
                    let row = own.low_bits(sorted.keys.bits).bits_from(sorted.keys.column_bits);
                    let maker = self.entries.count_to(own.bits_from(sorted.keys.bits)) - 1;
                    self.row_starts.store(row as usize, entry | maker << 16);
                }
            }
        }
    }

    /// Stores the numbers of entries of the tile and its rows.
    #[device(track_caller)]
    fn count_rows(self, tile: ProductTile, sorted: BlockSortKeys, output: BlockSortOutput, count: u32) {
        let BlockSortKeys { row_count, cut, .. } = sorted;
        let start = |row: u32| self.row_starts.load(row as usize) & 0xffff;
        let row_of = |row: u32| {
            output.entry_rows.load(tile.first_entry + (self.row_starts.load(row as usize) >> 16) as usize)
        };
        // The rows that are in no other tile.
        let begin = u32::from(cut.before);
        let end = if row_count > begin { row_count - u32::from(cut.after) } else { row_count };
        let mut row = begin + thread::index();
        while row < end {
            output.row_counts.store(row_of(row) as usize, start(row + 1) - start(row));
            row += BLOCK as u32;
        }
        if thread::index() == 0 {
            let (head, tail) = (start(begin), count - start(end));
            let first_row = if begin < end { row_of(begin) } else { 0 };
            let words = output.tiles.skip(thread::block() as usize * TILE_WORDS);
            words.store(0, count);
            words.store(1, head);
            words.store(2, tail);
            words.store(3, first_row);
            output.cut_counts.store(thread::block() as usize, head + tail);
        }
    }
}
