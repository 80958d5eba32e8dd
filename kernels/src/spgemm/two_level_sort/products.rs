//! Product compute: the products once more, added up by the order that the block sort found, each sum where the global
//! sort wants it.
// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{kernel, thread, Arena, Element, Float, Global, GlobalMut, Shared};

use super::block_sort::{BEGINS_ENTRY, TILE_WORDS};
use super::expansion::{Entries, Tile};
use crate::block::count_scan::CountScan;
use crate::block::numbered_bits::NumberedBits;
use crate::block::radix_sort::warp_striped;
use crate::block::segmented_scan::SegmentedScan;
use crate::Offset;

kernel! {
    /// Gives the entries that are in one tile as a whole their places in C, and C their columns. One block a tile.
    pub struct PlaceTiles {
        /// [`TILE_WORDS`] a tile, from the block sort.
        pub tiles: Global<u32>,
        /// The columns of each tile's entries.
        pub columns: Global<u32>,
        /// Where each row of C begins.
        pub c_offsets: Global<u32>,
        /// Output: column indices of C.
        pub c_columns: GlobalMut<u32>,
        /// Output: the place in C of each tile's first such entry.
        pub tile_places: GlobalMut<u32>,
        /// Products of a tile.
        pub tile_len: u32,
    }
    shared: 0;
    body: PlaceTiles::place_tiles::<BLOCK>;
    entries: {
        spgemm_place_tiles in spgemm_two_level_sort: 256 x 1;
    }
}

impl PlaceTiles {
    #[inline(always)]
    fn place_tiles<const BLOCK: usize>(self, _: Arena) {
        let Self { columns, c_columns, .. } = self;
        let tile = thread::block() as usize;
        let words = self.tiles.skip(tile * TILE_WORDS);
        let (count, head, tail) = (words.load(0), words.load(1), words.load(2));
        let place = self.c_offsets.load(words.load(3) as usize);
        if thread::index() == 0 {
            self.tile_places.store(tile, place);
        }
        let columns = columns.skip(tile * self.tile_len as usize + head as usize);
        let whole = count - head - tail;
        if whole == 0 {
            return;
        }
        let c_columns = c_columns.skip(place as usize);
        let mut entry = thread::index();
        while entry < whole {
            c_columns.store(entry as usize, columns.load_streaming(entry as usize));
            entry += BLOCK as u32;
        }
    }
}

/// Bytes of shared memory of a block of [`AddProducts`].
const fn product_bytes<const BLOCK: usize, const ITEMS: usize>(value_bytes: usize) -> usize {
    let warps = BLOCK / thread::WARP_SIZE as usize;
    let marks = NumberedBits::<BLOCK, ITEMS>::BYTES + 2 * CountScan::<u32, BLOCK>::BYTES;
    BLOCK * ITEMS * value_bytes + warps * (value_bytes + 4) + marks
}

kernel! {
    /// Computes the products of each tile and adds up those of each entry, in an order that only the patterns determine.
    pub struct AddProducts<V: Float, O: Offset> {
        /// The first product of each listed entry of A, and the number of products at the end.
        pub first_products: Global<u32>,
        /// The listed entry that makes the first product of each tile, and their number at the end.
        pub tile_entries: Global<u32>,
        /// What, added to a product's number, gives the nonzero of B that makes it.
        pub sources: Global<O>,
        /// Which entry of A each listed one is.
        pub entries: Global<u32>,
        /// Values of A, from its first entry on.
        pub a_values: Global<V>,
        /// Values of B.
        pub b_values: Global<V>,
        /// Where each sorted product was in its tile; see the block sort.
        pub permutation: Global<u16>,
        /// [`TILE_WORDS`] a tile, from the block sort.
        pub tiles: Global<u32>,
        /// Cut entries before each tile's.
        pub cut_begins: Global<u32>,
        /// Where the global sort put each cut entry.
        pub cut_places: Global<u32>,
        /// The place in C of each tile's first entry that is not cut.
        pub tile_places: Global<u32>,
        /// Output: values of C.
        pub c_values: GlobalMut<V>,
        /// Output: values of the cut entries, sorted.
        pub cut_values: GlobalMut<V>,
        /// Products, fewer than 2³¹; the grid is one block a tile.
        pub products: u32,
    }
    shared: product_bytes::<BLOCK, ITEMS>(V::SIZE);
    body: AddProducts::add_products::<BLOCK, ITEMS>;
    entries: {
        spgemm_add_products_f32_u32 in spgemm_two_level_sort: <V = f32, O = u32>, 256 x 8;
        spgemm_add_products_f32_u64 in spgemm_two_level_sort: <V = f32, O = u64>, 256 x 8;
        spgemm_add_products_f64_u32 in spgemm_two_level_sort: <V = f64, O = u32>, 256 x 8;
        spgemm_add_products_f64_u64 in spgemm_two_level_sort: <V = f64, O = u64>, 256 x 8;
    }
}

impl<V: Float, O: Offset> AddProducts<V, O> {
    #[inline(always)]
    fn add_products<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let Self { cut_places, c_values, .. } = self;
        let block = ProductBlock::<V, BLOCK, ITEMS> {
            values: arena.take(BLOCK * ITEMS),
            sums: SegmentedScan::take(&mut arena),
            counts: CountScan::take(&mut arena),
            marks: NumberedBits::take(&mut arena),
            scan: CountScan::take(&mut arena),
        };
        let all = Entries {
            first_products: self.first_products,
            tile_begins: self.tile_entries,
            products: self.products,
        };
        let tile = all.tile((BLOCK * ITEMS) as u32);
        tile.mark(self.first_products, block.marks, |_, _| ());
        block.marks.number(block.scan);
        let order = load_order(self.permutation.skip(tile.first as usize));
        block.compute(tile, (self.sources, self.b_values), (self.entries, self.a_values));
        thread::barrier();
        block.add_up(&order);

        let index = thread::block() as usize;
        let words = self.tiles.skip(index * TILE_WORDS);
        let (count, head, tail) = (words.load(0), words.load(1), words.load(2));
        let cut_places = cut_places.skip(self.cut_begins.load(index) as usize);
        let c_values = c_values.skip(self.tile_places.load(index) as usize);
        let mut entry = thread::index();
        while entry < count {
            let sum = block.values.load(entry as usize);
            if entry < head {
                self.cut_values.store(cut_places.load(entry as usize) as usize, sum);
            } else if entry < count - tail {
                c_values.store((entry - head) as usize, sum);
            } else {
                let cut = entry - (count - tail) + head;
                self.cut_values.store(cut_places.load(cut as usize) as usize, sum);
            }
            entry += BLOCK as u32;
        }
    }
}

/// The permutation's elements of this thread, which has neighbours of the sorted products.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn load_order<const ITEMS: usize>(permutation: Global<u16>) -> [u16; ITEMS] {
    const { assert!(ITEMS.is_multiple_of(8)) };
    let own = permutation.skip(thread::index() as usize * ITEMS);
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

impl<V: Float, const BLOCK: usize, const ITEMS: usize> ProductBlock<V, BLOCK, ITEMS> {
    /// Writes the products in the order of A's entries; behind the last of all, zeros.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn compute<O: Offset>(
        self,
        tile: Tile,
        (sources, b_values): (Global<O>, Global<V>),
        (entries, a_values): (Global<u32>, Global<V>),
    ) {
        let (sources, entries) = (sources.skip(tile.first_entry), entries.skip(tile.first_entry));
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
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn add_up(self, order: &[u16; ITEMS]) {
        let mut values = [V::ZERO; ITEMS];
        let mut heads = 0_u32;
        for item in 0..ITEMS {
            values[item] = self.values.load(usize::from(order[item] & (BEGINS_ENTRY - 1)));
            heads |= u32::from(order[item] / BEGINS_ENTRY) << item;
        }
        // The sum from the thread's last head on.
        let mut open = V::ZERO;
        for item in 0..ITEMS {
            let begins = item == 0 || heads >> item & 1 != 0;
            open = if begins { values[item] } else { open + values[item] };
        }
        let scanned = self.sums.exclusive(open, heads != 0);
        let counted = self.counts.exclusive(heads.count_ones());
        // Both have a barrier, behind which nobody reads products any more.
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
