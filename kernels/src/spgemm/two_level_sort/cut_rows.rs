//! Rows that tiles cut: their entries are collected for the global sort, and those that are equal become one.
use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Element, Global, GlobalMut, Shared};

use super::block_sort::TILE_WORDS;
use super::products::SortedTiles;
use crate::block::count_scan::CountScan;
use crate::block::lookback::{Lookback, Tickets};
use crate::block::numbered_bits::NumberedBits;
use crate::block::radix_rank::RadixKey;
use crate::block::radix_sort::warp_striped;

kernel! {
    /// Collects the entries of cut rows as keys, with the row above the column: one block per tile.
    pub struct CollectCutEntries<K: RadixKey> {
        /// The tiles.
        pub tiles: SortedTiles,
        /// The listed entry of A that makes the first product of each tile.
        pub tile_begins: Global<u32>,
        /// The row of each listed entry.
        pub entry_rows: Global<u32>,
        /// The number of cut entries before each tile's, and of all at the end.
        pub cut_begins: Global<u32>,
        /// Output: the keys of cut entries, in the order of tiles.
        pub keys: GlobalMut<K>,
        /// Output: 0, 1, 2, …; sorted along, they tell where each entry came from.
        pub numbers: GlobalMut<u32>,
        /// Bits of a column.
        pub column_bits: u32,
    }
    shared: 0;
    body: CollectCutEntries::collect_cut_entries::<BLOCK>;
    entry: spgemm_collect_cut_entries_{K} in spgemm_two_level_sort: K in [u32, u64], 256 x 1;
}

impl<K: RadixKey> CollectCutEntries<K> {
    #[device]
    fn collect_cut_entries<const BLOCK: usize>(self, _: Arena) {
        let Self { keys, numbers, tiles: SortedTiles { words, columns, tile_len }, .. } = self;
        let tile = thread::block() as usize;
        let words = words.skip(tile * TILE_WORDS);
        let (count, head, tail) = (words.load(0), words.load(1), words.load(2));
        let first_row = self.entry_rows.load(self.tile_begins.load(tile) as usize);
        let mut last_row = first_row;
        if tail > 0 {
            last_row = self.entry_rows.load(self.tile_begins.load(tile + 1) as usize);
        }
        let begin = self.cut_begins.load(tile);
        let columns = columns.skip(tile * tile_len as usize);
        let (keys, numbers) = (keys.skip(begin as usize), numbers.skip(begin as usize));
        thread::block_stride::<BLOCK>(head + tail, |cut| {
            let is_head = cut < head;
            let entry = if is_head { cut } else { count - tail + cut - head };
            let column = K::from_bits(u64::from(columns.load(entry as usize)));
            let row = if is_head { first_row } else { last_row };
            keys.store(cut as usize, column.with_bits(row, self.column_bits));
            numbers.store(cut as usize, begin + cut);
        });
    }
}

kernel! {
    /// Numbers the sorted entries of cut rows, equal ones with the same number, and counts them by row: one block per tile,
    /// tiles in the order in which blocks start.
    pub struct NumberCutEntries<K: RadixKey> {
        /// The keys, sorted.
        pub keys: Global<K>,
        /// The place of each before the sort.
        pub origins: Global<u32>,
        /// Output: the place of each entry after the sort.
        pub places: GlobalMut<u32>,
        /// Output: 1 if the key differs from the one before, else 0.
        pub flags: GlobalMut<u8>,
        /// Output: the distinct keys; room for as many as there are keys.
        pub unique_keys: GlobalMut<K>,
        /// Output: the number of distinct keys.
        pub unique_count: GlobalMut<u64>,
        /// Output: the number of each cut row's first entry; not written for other rows.
        pub row_numbers: GlobalMut<u32>,
        /// The number of entries of each cut row is added; zero before.
        pub row_counts: GlobalMut<u32>,
        /// A ticket and one word per tile, all zero.
        pub state: GlobalMut<u64>,
        /// The number of keys, at least one and fewer than 2³¹.
        pub len: u32,
        /// Bits of a column.
        pub column_bits: u32,
    }
    shared: NumberedBits::<BLOCK, ITEMS>::BYTES + CountScan::<u32, BLOCK>::BYTES + 8;
    body: NumberCutEntries::number_cut_entries::<BLOCK, ITEMS>;
    entry: spgemm_number_cut_entries_{K} in spgemm_two_level_sort: K in [u32, u64], 256 x 8;
}

/// The keys of a thread in a tile, warp-striped.
struct TileKeys<K, const ITEMS: usize> {
    /// The tile's first key.
    first: usize,
    /// The number of keys starting there.
    left: u32,
    own: [K; ITEMS],
    /// The key before each.
    before: [K; ITEMS],
    /// A bit for each key that differs from the one before.
    heads: u32,
}

impl<K: RadixKey, const ITEMS: usize> TileKeys<K, ITEMS> {
    /// Returns whether the key of an item exists.
    #[device]
    fn has(&self, item: usize) -> bool {
        (warp_striped::<ITEMS>(item) as u32) < self.left
    }
}

impl<K: RadixKey> NumberCutEntries<K> {
    #[device]
    fn number_cut_entries<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        // 1. Draw a tile.
        let marks = NumberedBits::<BLOCK, ITEMS>::take(&mut arena);
        let scan = CountScan::<u32, BLOCK>::take(&mut arena);
        let shared: Shared<u32> = arena.take(2);
        let tile = Tickets::new(self.state).draw_for_block(shared);
        // 2. Load its keys, and mark those that differ from the one before.
        let keys = self.load::<BLOCK, ITEMS>(tile);
        for item in 0..ITEMS {
            marks.set_word(item, warp::ballot(warp::FULL, keys.heads >> item & 1 != 0));
        }
        // 3. Number these: within the block, then over the tiles before.
        let count = marks.number(scan);
        Lookback::new(self.state.skip(1)).store_prefix(tile, count, shared.skip(1));
        thread::barrier();
        // 4. Store the distinct keys, and count them by row.
        let numbered = shared.load(1);
        self.store(&keys, |place| numbered + marks.count_to(place));
    }

    #[device(track_caller)]
    fn load<const BLOCK: usize, const ITEMS: usize>(self, tile: u32) -> TileKeys<K, ITEMS> {
        let first = tile as usize * BLOCK * ITEMS;
        let left = self.len - first as u32;
        let mut keys = TileKeys { first, left, own: [K::ZERO; ITEMS], before: [K::ZERO; ITEMS], heads: 0 };
        for item in 0..ITEMS {
            let place = first + warp_striped::<ITEMS>(item);
            if keys.has(item) {
                keys.own[item] = self.keys.load(place);
                if place > 0 {
                    keys.before[item] = self.keys.load(place - 1);
                }
            }
        }
        for item in 0..ITEMS {
            let is_first = first + warp_striped::<ITEMS>(item) == 0;
            let is_head = keys.has(item) && (is_first || keys.own[item] != keys.before[item]);
            keys.heads |= u32::from(is_head) << item;
        }
        keys
    }

    /// Stores a thread's part of the outputs. `count_to` gives the number of distinct keys up to and including the one at a
    /// place in the tile.
    #[device(track_caller)]
    fn store<const ITEMS: usize>(self, keys: &TileKeys<K, ITEMS>, count_to: impl Fn(u32) -> u32) {
        let (origins, flags) = (self.origins.skip(keys.first), self.flags.skip(keys.first));
        let add = |row: u32, count: u32| {
            self.row_counts.fetch_add(row as usize, count, Ordering::Relaxed, Scope::Device);
        };
        for item in 0..ITEMS {
            if !keys.has(item) {
                continue;
            }
            let place = warp_striped::<ITEMS>(item);
            let is_head = keys.heads >> item & 1 != 0;
            self.places.store(origins.load(place) as usize, (keys.first + place) as u32);
            flags.store(place, u8::from(is_head));
            let up_to = count_to(place as u32);
            let row = keys.own[item].bits_from(self.column_bits);
            if is_head {
                self.unique_keys.store(up_to as usize - 1, keys.own[item]);
                let row_before = keys.before[item].bits_from(self.column_bits);
                let is_first = keys.first + place == 0;
                if is_first || row != row_before {
                    // A row's count is the number at its end minus the number at its start.
                    self.row_numbers.store(row as usize, up_to - 1);
                    add(row, (up_to - 1).wrapping_neg());
                    if !is_first {
                        add(row_before, up_to - 1);
                    }
                }
            }
            if place as u32 + 1 == keys.left {
                add(row, up_to);
                self.unique_count.store(0, u64::from(up_to));
            }
        }
    }
}

kernel! {
    /// Assigns a place in C to each entry of a cut row, and stores its column there.
    pub struct PlaceCutEntries<K: RadixKey> {
        /// The distinct keys.
        pub unique_keys: Global<K>,
        /// The number of distinct keys.
        pub unique_count: Global<u64>,
        /// The number of each cut row's first entry.
        pub row_numbers: Global<u32>,
        /// Row offsets of C.
        pub c_row_offsets: Global<u32>,
        /// Output: column indices of C.
        pub c_column_indices: GlobalMut<u32>,
        /// Output: the place in C of each distinct key.
        pub c_places: GlobalMut<u32>,
        /// Bits of a column.
        pub column_bits: u32,
    }
    shared: 0;
    body: PlaceCutEntries::place_cut_entries::<BLOCK>;
    entry: spgemm_place_cut_entries_{K} in spgemm_two_level_sort: K in [u32, u64], 256 x 1;
}

impl<K: RadixKey> PlaceCutEntries<K> {
    #[device]
    fn place_cut_entries<const BLOCK: usize>(self, _: Arena) {
        let entry = thread::global_index::<BLOCK>();
        if entry as u64 >= self.unique_count.load(0) {
            return;
        }
        let key = self.unique_keys.load_streaming(entry);
        let row = key.bits_from(self.column_bits) as usize;
        let in_row = entry as u32 - self.row_numbers.load(row);
        let place = self.c_row_offsets.load(row) + in_row;
        self.c_column_indices.store(place as usize, key.low_bits(self.column_bits).to_bits() as u32);
        self.c_places.store(entry, place);
    }
}

kernel! {
    /// Stores the values of cut rows' entries at their places in C.
    pub struct PlaceCutValues<V: Element> {
        /// The values.
        pub values: Global<V>,
        /// The number of values.
        pub unique_count: Global<u64>,
        /// The place in C of each value.
        pub c_places: Global<u32>,
        /// Output: values of C.
        pub c_values: GlobalMut<V>,
    }
    shared: 0;
    body: PlaceCutValues::place_cut_values::<BLOCK>;
    entry: spgemm_place_cut_values_{V} in spgemm_two_level_sort: V in [f32, f64], 256 x 1;
}

impl<V: Element> PlaceCutValues<V> {
    #[device]
    fn place_cut_values<const BLOCK: usize>(self, _: Arena) {
        let entry = thread::global_index::<BLOCK>();
        if (entry as u64) < self.unique_count.load(0) {
            self.c_values
                .store(self.c_places.load_streaming(entry) as usize, self.values.load_streaming(entry));
        }
    }
}
