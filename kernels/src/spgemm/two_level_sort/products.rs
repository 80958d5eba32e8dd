//! Product compute: computes the products, adds them up in the order of the block sort, and stores each sum at its place in
//! C or in the global sort.
use evenpath_simt::{
    device, kernel, parameters, thread, Aligned16, Arena, Arithmetic, Element, Global, GlobalMut, Shared,
};

use super::block_sort::{BEGINS_ENTRY, TILE_WORDS};
use super::expansion::{ListedEntries, ProductTile};
use crate::block::count_scan::CountScan;
use crate::block::numbered_bits::NumberedBits;
use crate::block::radix_sort::warp_striped;
use crate::block::segmented_scan::SegmentedScan;
use crate::Offset;

parameters! {
    /// The entries of each tile, from the block sort.
    pub struct SortedTiles {
        /// [`TILE_WORDS`] words per tile.
        pub words: Global<u32>,
        /// The columns of each tile's entries, starting at the tile's first product.
        pub columns: Global<u32>,
        /// Products per tile.
        pub tile_len: u32,
    }
}

kernel! {
    /// Assigns places in C to the entries of rows that are not cut, and stores their columns: one block per tile.
    pub struct PlaceTiles {
        /// The tiles.
        pub tiles: SortedTiles,
        /// Row offsets of C.
        pub c_row_offsets: Global<u32>,
        /// Output: column indices of C.
        pub c_column_indices: GlobalMut<u32>,
        /// Output: the place in C of each tile's first such entry.
        pub tile_places: GlobalMut<u32>,
    }
    shared: 0;
    body: PlaceTiles::place_tiles::<BLOCK>;
    entry: spgemm_place_tiles in spgemm_two_level_sort: 256 x 1;
}

impl PlaceTiles {
    #[device]
    fn place_tiles<const BLOCK: usize>(self, _: Arena) {
        let SortedTiles { words, columns, tile_len } = self.tiles;
        let tile = thread::block() as usize;
        let words = words.skip(tile * TILE_WORDS);
        let (count, head, tail) = (words.load(0), words.load(1), words.load(2));
        let place = self.c_row_offsets.load(words.load(3) as usize);
        if thread::index() == 0 {
            self.tile_places.store(tile, place);
        }
        let columns = columns.skip(tile * tile_len as usize + head as usize);
        let whole = count - head - tail;
        if whole == 0 {
            return;
        }
        let c_columns = self.c_column_indices.skip(place as usize);
        thread::block_stride::<BLOCK>(whole, |entry| {
            c_columns.store(entry as usize, columns.load_streaming(entry as usize));
        });
    }
}

/// Bytes of shared memory of a block of [`AddProducts`].
const fn product_bytes<const BLOCK: usize, const ITEMS: usize>(value_bytes: usize) -> usize {
    let warps = BLOCK / thread::WARP_SIZE as usize;
    let marks = NumberedBits::<BLOCK, ITEMS>::BYTES + 2 * CountScan::<u32, BLOCK>::BYTES;
    BLOCK * ITEMS * value_bytes + warps * (value_bytes + 4) + marks
}

kernel! {
    /// Computes the products of each tile and adds up those of each entry, in an order that depends only on the patterns: one
    /// block per tile.
    pub struct AddProducts<V: Arithmetic, O: Offset> {
        /// The listed entries of A.
        pub entries: ListedEntries<O>,
        /// Values of A, starting at the first multiplied row.
        pub a_values: Global<V>,
        /// Values of B.
        pub b_values: Global<V>,
        /// The original place of each sorted product in its tile; see the block sort.
        pub permutation: Global<u16, Aligned16>,
        /// [`TILE_WORDS`] words per tile, from the block sort.
        pub tiles: Global<u32>,
        /// The number of cut entries before each tile's.
        pub cut_begins: Global<u32>,
        /// The place of each cut entry in the global sort.
        pub cut_places: Global<u32>,
        /// The place in C of each tile's first entry that is not cut.
        pub tile_places: Global<u32>,
        /// Output: values of C.
        pub c_values: GlobalMut<V>,
        /// Output: values of the cut entries, sorted.
        pub cut_values: GlobalMut<V>,
    }
    shared: product_bytes::<BLOCK, ITEMS>(V::SIZE);
    body: AddProducts::add_products::<BLOCK, ITEMS>;
    entry: spgemm_add_products_{V}_{O} in spgemm_two_level_sort: V in [f32, f64], O in [u32, u64], 256 x 8;
}

impl<V: Arithmetic, O: Offset> AddProducts<V, O> {
    #[device]
    fn add_products<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        // 1. Compute the tile's products, in the order of A's entries.
        let block = ProductBlock::<V, BLOCK, ITEMS> {
            values: arena.take(BLOCK * ITEMS),
            sums: SegmentedScan::take(&mut arena),
            counts: CountScan::take(&mut arena),
            marks: NumberedBits::take(&mut arena),
            scan: CountScan::take(&mut arena),
        };
        let tile = self.entries.tile((BLOCK * ITEMS) as u32);
        tile.mark(self.entries.first_products, block.marks, |_, _| ());
        block.marks.number(block.scan);
        let order = load_order(self.permutation.skip_aligned(tile.first as usize));
        block.compute(tile, self.entries, (self.a_values, self.b_values));
        thread::barrier();
        // 2. Add up those of each entry.
        block.add_up(&order);

        // 3. Store the sums: in C, or at their places in the global sort.
        let index = thread::block() as usize;
        let words = self.tiles.skip(index * TILE_WORDS);
        let (count, head, tail) = (words.load(0), words.load(1), words.load(2));
        let cut_places = self.cut_places.skip(self.cut_begins.load(index) as usize);
        let c_values = self.c_values.skip(self.tile_places.load(index) as usize);
        thread::block_stride::<BLOCK>(count, |entry| {
            let sum = block.values.load(entry as usize);
            if entry < head {
                self.cut_values.store(cut_places.load(entry as usize) as usize, sum);
            } else if entry < count - tail {
                c_values.store((entry - head) as usize, sum);
            } else {
                let cut = entry - (count - tail) + head;
                self.cut_values.store(cut_places.load(cut as usize) as usize, sum);
            }
        });
    }
}

/// Returns the permutation's elements of this thread, which takes consecutive sorted products.
#[device(track_caller)]
fn load_order<const ITEMS: usize>(permutation: Global<u16, Aligned16>) -> [u16; ITEMS] {
    const { assert!(ITEMS.is_multiple_of(8)) };
    let own = permutation.skip_aligned(thread::index() as usize * ITEMS);
    let mut order = [0; ITEMS];
    for part in 0..ITEMS / 8 {
        let [low, high] = own.load_streaming_16(part * 8);
        for item in 0..4 {
            order[part * 8 + item] = (low >> (16 * item)) as u16;
            order[part * 8 + 4 + item] = (high >> (16 * item)) as u16;
        }
    }
    order
}

/// Shared memory of a block.
#[derive(Clone, Copy)]
struct ProductBlock<V, const BLOCK: usize, const ITEMS: usize> {
    /// The products; then the sums.
    values: Shared<V>,
    sums: SegmentedScan<V, BLOCK>,
    counts: CountScan<u32, BLOCK>,
    marks: NumberedBits<BLOCK, ITEMS>,
    scan: CountScan<u32, BLOCK>,
}

impl<V: Arithmetic, const BLOCK: usize, const ITEMS: usize> ProductBlock<V, BLOCK, ITEMS> {
    /// Writes the products in the order of A's entries, and zeros after the last product.
    #[device(track_caller)]
    fn compute<O: Offset>(
        self,
        tile: ProductTile,
        entries: ListedEntries<O>,
        (a_values, b_values): (Global<V>, Global<V>),
    ) {
        let (sources, entries) =
            (entries.sources.skip(tile.first_entry), entries.numbers.skip(tile.first_entry));
        let mut nonzeros = [O::ZERO; ITEMS];
        let mut a_entries = [0; ITEMS];
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item) as u32;
            if place < tile.len {
                let entry = self.marks.count_to(place) as usize - 1;
                let source = sources.load(entry);
                nonzeros[item] = O::from_bits(source.to_bits().wrapping_add(u64::from(tile.first + place)));
                a_entries[item] = entries.load(entry);
            }
        }
        let mut factors = [V::ZERO; ITEMS];
        let mut a_factors = [V::ZERO; ITEMS];
        for item in 0..ITEMS {
            if (warp_striped::<ITEMS>(item) as u32) < tile.len {
                factors[item] = b_values.load(nonzeros[item].to_usize());
                a_factors[item] = a_values.load(a_entries[item] as usize);
            }
        }
        for item in 0..ITEMS {
            self.values.store(warp_striped::<ITEMS>(item), a_factors[item] * factors[item]);
        }
    }

    /// Replaces the products by the sums of the tile's entries. It has barriers, and ends with one.
    #[device(track_caller)]
    fn add_up(self, order: &[u16; ITEMS]) {
        let mut values = [V::ZERO; ITEMS];
        let mut heads = 0_u32;
        for item in 0..ITEMS {
            values[item] = self.values.load(usize::from(order[item] & (BEGINS_ENTRY - 1)));
            heads |= u32::from(order[item] / BEGINS_ENTRY) << item;
        }
        // The sum of the products starting at the thread's last head.
        let mut open = V::ZERO;
        for item in 0..ITEMS {
            let begins = item == 0 || heads >> item & 1 != 0;
            open = if begins { values[item] } else { open + values[item] };
        }
        let scanned = self.sums.exclusive(open, heads != 0);
        let counted = self.counts.exclusive(heads.count_ones());
        // Both have a barrier, after which no thread reads products.
        let mut sum = scanned.before;
        let mut entry = counted.before;
        // The tile's first product begins an entry.
        for item in 0..ITEMS {
            let begins = heads >> item & 1 != 0;
            if begins && entry > 0 {
                self.values.store(entry as usize - 1, sum);
            }
            sum = if begins { values[item] } else { sum + values[item] };
            entry += u32::from(begins);
        }
        if thread::index() == BLOCK as u32 - 1 {
            self.values.store(entry as usize - 1, sum);
        }
        thread::barrier();
    }
}
