//! Block sort: the products of each tile sorted by row and column, and what remains of them once equal ones are one.
// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{kernel, thread, warp, Arena, Element, Global, GlobalMut, Shared};

use super::expansion::{Entries, Tile};
use crate::block::count_scan::CountScan;
use crate::block::numbered_bits::NumberedBits;
use crate::block::radix_rank::{RadixKey, RadixRank};
use crate::block::radix_sort::{warp_striped, RadixSort};
use crate::Offset;

/// In an element of a tile's permutation: the product begins a new entry of the tile. Below it is the product's place.
pub(super) const BEGINS_ENTRY: u16 = 1 << 15;

/// What is known of a tile, a word each: its entries; those of a row that began in an earlier tile, which come first;
/// those of a row that goes on in the next one, which come last; and the first row that is neither, if there is one.
pub const TILE_WORDS: usize = 4;

/// Bytes of shared memory of a block of [`SortProducts`], of so many threads and items a thread.
pub const fn shared_bytes(block: usize, items: usize) -> u32 {
    let (warps, words) = (block / thread::WARP_SIZE as usize, block * items / thread::WARP_SIZE as usize);
    let sort = RadixRank::<128>::bytes_for(block) + (block * items + 1) * u64::SIZE;
    // Ranges and the scan a warp; three kinds of marks.
    (sort + warps * (8 + 4) + 3 * 2 * words * 4) as u32
}

kernel! {
    /// Sorts the products of each tile by row and column, and compacts out its entries: what has the same row and column
    /// is one.
    ///
    /// Products come in the order of A's entries, so their rows ascend. The sort is by column first and by row last, on
    /// as many bits as the tile's columns and rows differ in, with the place of each product in the bits that are left.
    pub struct SortProducts<O: Offset> {
        /// The first product of each listed entry of A, and the number of products at the end.
        pub first_products: Global<u32>,
        /// The listed entry that makes the first product of each tile, and their number at the end.
        pub tile_entries: Global<u32>,
        /// What, added to a product's number, gives the nonzero of B that makes it.
        pub sources: Global<O>,
        /// The row of each listed entry.
        pub entry_rows: Global<u32>,
        /// Column indices of B.
        pub b_columns: Global<u32>,
        /// Output: where each sorted product was in its tile, and [`BEGINS_ENTRY`]; whole tiles.
        pub permutation: GlobalMut<u16>,
        /// Output: the columns of each tile's entries, from the tile's first place on.
        pub columns: GlobalMut<u32>,
        /// Output: [`TILE_WORDS`] a tile.
        pub tiles: GlobalMut<u32>,
        /// Output: the entries of each tile that are of rows cut by its ends.
        pub cut_counts: GlobalMut<u32>,
        /// Output: the entries of each row that is in one tile as a whole; others are left alone.
        pub row_counts: GlobalMut<u32>,
        /// Products, fewer than 2³¹; the grid is one block a tile.
        pub products: u32,
    }
    shared: 0;
    body: SortProducts::sort_products::<BLOCK, ITEMS>;
    entries: {
        spgemm_sort_products_u32 in spgemm_two_level_sort: <O = u32>, 256 x 8 resident 4;
        spgemm_sort_products_u64 in spgemm_two_level_sort: <O = u64>, 256 x 8;
    }
}

impl<O: Offset> SortProducts<O> {
    #[inline(always)]
    fn sort_products<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        const { assert!(BLOCK * ITEMS <= BEGINS_ENTRY as usize) };
        // Row starts are where the sort has its counts, below the keys.
        const { assert!((BLOCK * ITEMS + 1) * 4 <= RadixRank::<BLOCK>::BYTES) };
        let mut arena = Arena::dynamic(shared_bytes(BLOCK, ITEMS));
        let sort_memory = arena;
        let wide = RadixSort::<u64, BLOCK, ITEMS>::take(&mut arena);
        let block = SortBlock::<BLOCK, ITEMS> {
            ranges: arena.take(2 * BLOCK / thread::WARP_SIZE as usize),
            entries: NumberedBits::take(&mut arena),
            rows: NumberedBits::take(&mut arena),
            heads: NumberedBits::take(&mut arena),
            scan: CountScan::take(&mut arena),
            row_starts: {
                let mut again = sort_memory;
                again.take(BLOCK * ITEMS + 1)
            },
        };
        let all = Entries {
            first_products: self.first_products,
            tile_begins: self.tile_entries,
            products: self.products,
        };
        let tile = all.tile((BLOCK * ITEMS) as u32);
        let row_count = block.number_entries(tile, self.first_products, self.entry_rows);
        let own_columns = block.expand(tile, self.sources, self.b_columns);
        let (least, column_bits) = block.column_range(tile, &own_columns);
        // At least one, so that there is a pass.
        let bits = (column_bits + bits_of(row_count - 1)).max(1);
        let output = Output {
            permutation: self.permutation,
            columns: self.columns,
            tiles: self.tiles,
            cut_counts: self.cut_counts,
            row_counts: self.row_counts,
            entry_rows: self.entry_rows,
        };
        let sorted = Sorted { least, column_bits, bits, row_count, cut: Cut::of(tile, all, self.entry_rows) };
        if bits + RadixSort::<u32, BLOCK, ITEMS>::PLACE_BITS <= u32::BITS {
            let narrow = {
                let mut again = sort_memory;
                RadixSort::<u32, BLOCK, ITEMS>::take(&mut again)
            };
            block.sort(narrow, tile, &own_columns, sorted, output);
        } else {
            block.sort(wide, tile, &own_columns, sorted, output);
        }
    }
}

/// Bits that numbers up to `largest` take.
#[inline(always)]
fn bits_of(largest: u32) -> u32 {
    u32::BITS - largest.leading_zeros()
}

/// Whether the first and the last row of a tile are also in its neighbours.
#[derive(Clone, Copy)]
struct Cut {
    before: bool,
    after: bool,
}

impl Cut {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn of(tile: Tile, all: Entries, entry_rows: Global<u32>) -> Self {
        let row = |entry: usize| entry_rows.load(entry);
        let before = tile.first > 0
            && (all.first_products.load(tile.first_entry) < tile.first
                || row(tile.first_entry) == row(tile.first_entry - 1));
        let last_entry = tile.first_entry + tile.entries as usize - 1;
        let after = tile.first + tile.len < all.products && row(last_entry) == row(tile.next_entry);
        Self { before, after }
    }
}

/// What a tile is sorted by.
#[derive(Clone, Copy)]
struct Sorted {
    /// The least column.
    least: u32,
    /// Bits of a column's distance to it; the row's are above.
    column_bits: u32,
    /// Bits of a key.
    bits: u32,
    /// Rows of the tile.
    row_count: u32,
    cut: Cut,
}

#[derive(Clone, Copy)]
struct Output {
    permutation: GlobalMut<u16>,
    columns: GlobalMut<u32>,
    tiles: GlobalMut<u32>,
    cut_counts: GlobalMut<u32>,
    row_counts: GlobalMut<u32>,
    /// An input: rows are counted where they are listed.
    entry_rows: Global<u32>,
}

/// Shared memory of a block.
#[derive(Clone, Copy)]
struct SortBlock<const BLOCK: usize, const ITEMS: usize> {
    /// The least column of each warp's products, then the greatest.
    ranges: Shared<u32>,
    /// Places where an entry of A begins.
    entries: NumberedBits<BLOCK, ITEMS>,
    /// Places where a row begins.
    rows: NumberedBits<BLOCK, ITEMS>,
    /// Sorted places that begin a new entry.
    heads: NumberedBits<BLOCK, ITEMS>,
    scan: CountScan<u32, BLOCK>,
    /// For each row of the tile its first entry, and the entry of A that makes a product of it, 16 bits each; the number
    /// of entries at the end. In the memory of the sort's counts.
    row_starts: Shared<u32>,
}

impl<const BLOCK: usize, const ITEMS: usize> SortBlock<BLOCK, ITEMS> {
    const WARPS: usize = BLOCK / thread::WARP_SIZE as usize;

    /// Numbers the tile's entries of A, and their rows, of which it gives the number.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn number_entries(self, tile: Tile, first_products: Global<u32>, entry_rows: Global<u32>) -> u32 {
        self.rows.clear();
        tile.mark(first_products, self.entries, |entry, place| {
            if place == 0 || entry_rows.load(entry) != entry_rows.load(entry - 1) {
                self.rows.set(place);
            }
        });
        self.entries.number(self.scan);
        self.rows.number(self.scan)
    }

    /// The columns of this thread's products, warp-striped.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn expand<O: Offset>(self, tile: Tile, sources: Global<O>, b_columns: Global<u32>) -> [u32; ITEMS] {
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

    /// The least column of the block's products, and the bits of the distance of the greatest. It has one barrier.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn column_range(self, tile: Tile, columns: &[u32; ITEMS]) -> (u32, u32) {
        let (mut least, mut greatest) = (u32::MAX, 0);
        for item in 0..ITEMS {
            if (warp_striped::<ITEMS>(item) as u32) < tile.len {
                least = least.min(columns[item]);
                greatest = greatest.max(columns[item]);
            }
        }
        let mut distance = thread::WARP_SIZE / 2;
        while distance > 0 {
            least = least.min(warp::shuffle_xor(warp::FULL, least, distance));
            greatest = greatest.max(warp::shuffle_xor(warp::FULL, greatest, distance));
            distance /= 2;
        }
        if thread::lane() == 0 {
            self.ranges.store(thread::warp() as usize, least);
            self.ranges.store(Self::WARPS + thread::warp() as usize, greatest);
        }
        thread::barrier();
        for warp in 0..Self::WARPS {
            least = least.min(self.ranges.load(warp));
            greatest = greatest.max(self.ranges.load(Self::WARPS + warp));
        }
        (least, bits_of(greatest - least))
    }

    /// Sorts the products and stores what is to be known of them.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn sort<K: RadixKey>(
        self,
        sort: RadixSort<K, BLOCK, ITEMS>,
        tile: Tile,
        columns: &[u32; ITEMS],
        sorted: Sorted,
        output: Output,
    ) {
        // Padding is the largest and comes last: it stays behind the products.
        let mut keys = [K::ONES.low_bits(sorted.bits); ITEMS];
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item) as u32;
            if place < tile.len {
                let column = K::from_bits(u64::from(columns[item] - sorted.least));
                keys[item] = column.with_bits(self.rows.count_to(place) - 1, sorted.column_bits);
            }
            keys[item] = keys[item].with_bits(place, sorted.bits);
        }
        sort.sort_keys(&mut keys, 0, sorted.bits);
        // From here on keys are in shared memory alone: each is needed for a moment, and all would take many registers.
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

    /// A bit for each of this thread's sorted products that begins an entry, and for each that begins a row. Leaves the
    /// former as marks that are not numbered, and stores the permutation.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn find_heads<K: RadixKey>(
        self,
        tile: Tile,
        keys: Shared<K>,
        sorted: Sorted,
        permutation: GlobalMut<u16>,
    ) -> (u32, u32) {
        let own_permutation = permutation.skip(tile.first as usize + warp_striped::<ITEMS>(0));
        let (mut heads, mut row_heads) = (0, 0);
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item);
            let own = keys.load(place);
            let before = keys.load(if place == 0 { 0 } else { place - 1 }).low_bits(sorted.bits);
            let key = own.low_bits(sorted.bits);
            let is_product = (place as u32) < tile.len;
            let head = is_product && (place == 0 || key != before);
            let new_row = key.bits_from(sorted.column_bits) != before.bits_from(sorted.column_bits);
            let row_head = is_product && (place == 0 || new_row);
            heads |= u32::from(head) << item;
            row_heads |= u32::from(row_head) << item;
            self.heads.set_word(item, warp::ballot(warp::FULL, head));
            // The first of the padding begins an entry of its own, which nobody stores.
            let mark = if head || place as u32 == tile.len { BEGINS_ENTRY } else { 0 };
            let product = own.bits_from(sorted.bits) as u16;
            own_permutation.store(item * thread::WARP_SIZE as usize, product | mark);
        }
        (heads, row_heads)
    }

    /// Stores the columns of entries, and remembers where rows begin.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn store_entries<K: RadixKey>(
        self,
        tile: Tile,
        keys: Shared<K>,
        sorted: Sorted,
        (heads, row_heads): (u32, u32),
        columns: GlobalMut<u32>,
    ) {
        let columns = columns.skip(tile.first as usize);
        for item in 0..ITEMS {
            if heads >> item & 1 != 0 {
                let place = warp_striped::<ITEMS>(item);
                let own = keys.load(place);
                let entry = self.heads.count_to(place as u32) - 1;
                columns
                    .store(entry as usize, sorted.least + own.low_bits(sorted.column_bits).to_bits() as u32);
                if row_heads >> item & 1 != 0 {
                    let row = own.low_bits(sorted.bits).bits_from(sorted.column_bits);
                    let maker = self.entries.count_to(own.bits_from(sorted.bits)) - 1;
                    self.row_starts.store(row as usize, entry | maker << 16);
                }
            }
        }
    }

    /// Stores how many entries the tile and its rows have.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn count_rows(self, tile: Tile, sorted: Sorted, output: Output, count: u32) {
        let Sorted { row_count, cut, .. } = sorted;
        let start = |row: u32| self.row_starts.load(row as usize) & 0xffff;
        let row_of = |row: u32| {
            output.entry_rows.load(tile.first_entry + (self.row_starts.load(row as usize) >> 16) as usize)
        };
        // Rows of the tile that are in no other.
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
