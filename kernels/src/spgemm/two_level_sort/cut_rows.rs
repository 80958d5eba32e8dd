//! Rows that tiles cut: their entries are collected for the global sort, and what it finds equal becomes one.
// Iterators over arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, thread, warp, Arena, Element, Global, GlobalMut, Shared};

use super::block_sort::TILE_WORDS;
use crate::block::count_scan::CountScan;
use crate::block::lookback::{Lookback, Tickets};
use crate::block::numbered_bits::NumberedBits;
use crate::block::radix_rank::RadixKey;
use crate::block::radix_sort::warp_striped;

kernel! {
    /// Collects the entries of cut rows: the row and, in the lower bits, the column of each. One block a tile.
    pub struct CollectCutEntries<K: RadixKey> {
        /// [`TILE_WORDS`] a tile, from the block sort.
        pub tiles: Global<u32>,
        /// The columns of each tile's entries.
        pub columns: Global<u32>,
        /// The listed entry of A that makes the first product of each tile.
        pub tile_entries: Global<u32>,
        /// The row of each listed entry.
        pub entry_rows: Global<u32>,
        /// Cut entries before each tile's, and their number at the end.
        pub cut_begins: Global<u32>,
        /// Output: the keys of cut entries, in the order of tiles.
        pub keys: GlobalMut<K>,
        /// Output: 0, 1, 2, …; what the sort makes of it tells where each entry came from.
        pub numbers: GlobalMut<u32>,
        /// Products of a tile.
        pub tile_len: u32,
        /// Bits of a column.
        pub column_bits: u32,
    }
    shared: 0;
    body: CollectCutEntries::collect_cut_entries::<BLOCK>;
    entries: {
        spgemm_collect_cut_entries_u32 in spgemm_two_level_sort: <K = u32>, 256 x 1;
        spgemm_collect_cut_entries_u64 in spgemm_two_level_sort: <K = u64>, 256 x 1;
    }
}

impl<K: RadixKey> CollectCutEntries<K> {
    #[inline(always)]
    fn collect_cut_entries<const BLOCK: usize>(self, _: Arena) {
        let Self { columns, keys, numbers, .. } = self;
        let tile = thread::block() as usize;
        let words = self.tiles.skip(tile * TILE_WORDS);
        let (count, head, tail) = (words.load(0), words.load(1), words.load(2));
        let first_row = self.entry_rows.load(self.tile_entries.load(tile) as usize);
        let mut last_row = first_row;
        if tail > 0 {
            last_row = self.entry_rows.load(self.tile_entries.load(tile + 1) as usize);
        }
        let begin = self.cut_begins.load(tile);
        let columns = columns.skip(tile * self.tile_len as usize);
        let (keys, numbers) = (keys.skip(begin as usize), numbers.skip(begin as usize));
        let mut cut = thread::index();
        while cut < head + tail {
            let is_head = cut < head;
            let entry = if is_head { cut } else { count - tail + cut - head };
            let column = K::from_bits(u64::from(columns.load(entry as usize)));
            let row = if is_head { first_row } else { last_row };
            keys.store(cut as usize, column.with_bits(row, self.column_bits));
            numbers.store(cut as usize, begin + cut);
            cut += BLOCK as u32;
        }
    }
}

kernel! {
    /// Numbers the sorted entries of cut rows, equal ones with the same number, and counts them by row: one block a
    /// tile, tiles in the order in which blocks begin.
    pub struct NumberCutEntries<K: RadixKey> {
        /// The keys, sorted.
        pub keys: Global<K>,
        /// For each, where it was before the sort.
        pub origins: Global<u32>,
        /// Output: where the sort put each of the entries.
        pub places: GlobalMut<u32>,
        /// Output: not zero where the key differs from the one before.
        pub flags: GlobalMut<u8>,
        /// Output: the keys, each once; no more than there are keys.
        pub unique_keys: GlobalMut<K>,
        /// Output: how many keys those are.
        pub unique_count: GlobalMut<u64>,
        /// Output: the number of each cut row's first entry; other rows are left alone.
        pub row_numbers: GlobalMut<u32>,
        /// The entries of each cut row are added; zero before.
        pub row_counts: GlobalMut<u32>,
        /// A ticket and one word a tile, all zero.
        pub state: GlobalMut<u64>,
        /// Keys, at least one and fewer than 2³¹.
        pub len: u32,
        /// Bits of a column.
        pub column_bits: u32,
    }
    shared: NumberedBits::<BLOCK, ITEMS>::BYTES + CountScan::<u32, BLOCK>::BYTES + 8;
    body: NumberCutEntries::number_cut_entries::<BLOCK, ITEMS>;
    entries: {
        spgemm_number_cut_entries_u32 in spgemm_two_level_sort: <K = u32>, 256 x 8;
        spgemm_number_cut_entries_u64 in spgemm_two_level_sort: <K = u64>, 256 x 8;
    }
}

impl<K: RadixKey> NumberCutEntries<K> {
    #[inline(always)]
    fn number_cut_entries<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let marks = NumberedBits::<BLOCK, ITEMS>::take(&mut arena);
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let shared: Shared<u32> = arena.take(2);
        if thread::index() == 0 {
            shared.store(0, Tickets::new(self.state).draw());
        }
        thread::barrier();
        let tile = shared.load(0);
        let first = tile as usize * BLOCK * ITEMS;
        let left = self.len - first as u32;
        let (tile_keys, tile_origins, tile_flags) =
            (self.keys.skip(first), self.origins.skip(first), self.flags.skip(first));

        let mut own = [K::ZERO; ITEMS];
        let mut before = [K::ZERO; ITEMS];
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item);
            if (place as u32) < left {
                own[item] = tile_keys.load(place);
                if first + place > 0 {
                    before[item] = self.keys.load(first + place - 1);
                }
            }
        }
        let mut heads = 0;
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item);
            let is_head = (place as u32) < left && (first + place == 0 || own[item] != before[item]);
            heads |= u32::from(is_head) << item;
            marks.set_word(item, warp::ballot(warp::FULL, is_head));
        }
        let count = marks.number(scan);
        if thread::warp() == 0 {
            let lookback = Lookback::new(self.state.skip(1));
            if thread::lane() == 0 {
                lookback.publish(tile, count);
            }
            let numbered = lookback.prefix(tile, count);
            if thread::lane() == 0 {
                shared.store(1, numbered as u32);
            }
        }
        thread::barrier();
        let numbered = shared.load(1);

        let add = |row: u32, count: u32| {
            self.row_counts.fetch_add(row as usize, count, Ordering::Relaxed, Scope::Device);
        };
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item);
            if (place as u32) >= left {
                continue;
            }
            let is_head = heads >> item & 1 != 0;
            self.places.store(tile_origins.load(place) as usize, (first + place) as u32);
            tile_flags.store(place, u8::from(is_head));
            // The number of this entry and those before.
            let up_to = numbered + marks.count_to(place as u32);
            let row = own[item].bits_from(self.column_bits);
            if is_head {
                self.unique_keys.store(up_to as usize - 1, own[item]);
                let row_before = before[item].bits_from(self.column_bits);
                let is_first = first + place == 0;
                if is_first || row != row_before {
                    // A row's count is what its end adds less what its begin subtracts.
                    self.row_numbers.store(row as usize, up_to - 1);
                    add(row, (up_to - 1).wrapping_neg());
                    if !is_first {
                        add(row_before, up_to - 1);
                    }
                }
            }
            if place as u32 + 1 == left {
                add(row, up_to);
                self.unique_count.store(0, u64::from(up_to));
            }
        }
    }
}

kernel! {
    /// Gives each entry of a cut row its place in C, and C its column there.
    pub struct PlaceCutEntries<K: RadixKey> {
        /// The keys, each once.
        pub unique_keys: Global<K>,
        /// How many.
        pub unique_count: Global<u64>,
        /// The number of each cut row's first entry.
        pub row_numbers: Global<u32>,
        /// Where each row of C begins.
        pub c_offsets: Global<u32>,
        /// Output: column indices of C.
        pub c_columns: GlobalMut<u32>,
        /// Output: the place in C of each.
        pub c_places: GlobalMut<u32>,
        /// Bits of a column.
        pub column_bits: u32,
    }
    shared: 0;
    body: PlaceCutEntries::place_cut_entries::<BLOCK>;
    entries: {
        spgemm_place_cut_entries_u32 in spgemm_two_level_sort: <K = u32>, 256 x 1;
        spgemm_place_cut_entries_u64 in spgemm_two_level_sort: <K = u64>, 256 x 1;
    }
}

impl<K: RadixKey> PlaceCutEntries<K> {
    #[inline(always)]
    fn place_cut_entries<const BLOCK: usize>(self, _: Arena) {
        let entry = thread::block() as usize * BLOCK + thread::index() as usize;
        if entry as u64 >= self.unique_count.load(0) {
            return;
        }
        let key = self.unique_keys.load_streaming(entry);
        let row = key.bits_from(self.column_bits) as usize;
        let in_row = entry as u32 - self.row_numbers.load(row);
        let place = self.c_offsets.load(row) + in_row;
        self.c_columns.store(place as usize, key.low_bits(self.column_bits).to_bits() as u32);
        self.c_places.store(entry, place);
    }
}

kernel! {
    /// Puts the values of cut rows' entries where they belong in C.
    pub struct PlaceCutValues<V: Element> {
        /// The values.
        pub values: Global<V>,
        /// How many.
        pub unique_count: Global<u64>,
        /// The place in C of each.
        pub c_places: Global<u32>,
        /// Output: values of C.
        pub c_values: GlobalMut<V>,
    }
    shared: 0;
    body: PlaceCutValues::place_cut_values::<BLOCK>;
    entries: {
        spgemm_place_cut_values_f32 in spgemm_two_level_sort: <V = f32>, 256 x 1;
        spgemm_place_cut_values_f64 in spgemm_two_level_sort: <V = f64>, 256 x 1;
    }
}

impl<V: Element> PlaceCutValues<V> {
    #[inline(always)]
    fn place_cut_values<const BLOCK: usize>(self, _: Arena) {
        let entry = thread::block() as usize * BLOCK + thread::index() as usize;
        if (entry as u64) < self.unique_count.load(0) {
            self.c_values
                .store(self.c_places.load_streaming(entry) as usize, self.values.load_streaming(entry));
        }
    }
}
