//! Sorts of tiles, one block each: keys, keys with values, and keys with the permutation that sorted them.
use evenpath_simt::{device, kernel, thread, Arena, Element, Global, GlobalMut};

use crate::block::radix_rank::RadixKey;
use crate::block::radix_sort::{warp_striped, RadixSort};

kernel! {
    /// Sorts the keys of each tile, stably, by some of their bits.
    pub struct SortTileKeys<K: RadixKey> {
        /// The keys, `len`.
        pub keys: Global<K>,
        /// Output: the keys, each tile sorted.
        pub sorted: GlobalMut<K>,
        /// Output: the clock cycles that each tile's sort took, without loads and stores; one per tile.
        pub cycles: GlobalMut<u32>,
        /// Keys.
        pub len: u64,
        /// The lowest bit to sort by.
        pub begin: u32,
        /// One more than the highest.
        pub end: u32,
    }
    shared: RadixSort::<K, BLOCK, ITEMS>::BYTES;
    body: SortTileKeys::sort_keys::<BLOCK, ITEMS>;
    entry: sort_tile_keys_{K} in sort_tile: K in [u32, u64], 128 x 11;
}

kernel! {
    /// Sorts the keys of each tile with their values, stably, by some of the keys' bits.
    pub struct SortTilePairs<K: RadixKey, V: Element> {
        /// The keys, `len`.
        pub keys: Global<K>,
        /// The values, `len`.
        pub values: Global<V>,
        /// Output: the keys, each tile sorted.
        pub sorted_keys: GlobalMut<K>,
        /// Output: the keys' values.
        pub sorted_values: GlobalMut<V>,
        /// Output: the clock cycles that each tile's sort took, without loads and stores; one per tile.
        pub cycles: GlobalMut<u32>,
        /// Keys.
        pub len: u64,
        /// The lowest bit to sort by.
        pub begin: u32,
        /// One more than the highest.
        pub end: u32,
    }
    shared: RadixSort::<K, BLOCK, ITEMS>::BYTES + RadixSort::<K, BLOCK, ITEMS>::LEN * V::SIZE + V::SIZE;
    body: SortTilePairs::sort_pairs::<BLOCK, ITEMS>;
    entry: sort_tile_pairs_{K}_u32 in sort_tile: (K, R) in [(u32, 0), (u64, 6)], V = u32, 128 x 11 resident R;
}

kernel! {
    /// Sorts the keys of each tile, all below 2^`bits`, and gives the permutation that sorted them.
    pub struct SortTilePermutation<K: RadixKey> {
        /// The keys, `len`.
        pub keys: Global<K>,
        /// Output: the keys, each tile sorted.
        pub sorted: GlobalMut<K>,
        /// Output: the place in its tile that each key had before.
        pub permutation: GlobalMut<u16>,
        /// Output: the clock cycles that each tile's sort took, without loads and stores; one per tile.
        pub cycles: GlobalMut<u32>,
        /// Keys.
        pub len: u64,
        /// Bits of the keys, at most [`RadixSort::PLACE_BITS`] less than their type has.
        pub bits: u32,
    }
    shared: RadixSort::<K, BLOCK, ITEMS>::BYTES;
    body: SortTilePermutation::sort_permutation::<BLOCK, ITEMS>;
    entry: sort_tile_permutation_{K} in sort_tile: K in [u32, u64], 128 x 11;
}

/// A tile's part of an array, which is not empty, as its block loads and stores it.
#[derive(Clone, Copy)]
pub(super) struct SortTile<const ITEMS: usize> {
    pub(super) first: usize,
    pub(super) len: usize,
}

impl<const ITEMS: usize> SortTile<ITEMS> {
    #[device]
    fn new<const BLOCK: usize>(len: u64) -> Self {
        let first = thread::block() as usize * BLOCK * ITEMS;
        let left = len as usize - first;
        Self { first, len: if left < BLOCK * ITEMS { left } else { BLOCK * ITEMS } }
    }

    /// Returns the thread's items; `padding` past the last element.
    #[device]
    pub(super) fn load<T: Element>(self, from: Global<T>, padding: T) -> [T; ITEMS] {
        let from = from.skip(self.first);
        let mut items = [padding; ITEMS];
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item);
            let value = from.load_streaming(if place < self.len { place } else { self.len - 1 });
            items[item] = if place < self.len { value } else { padding };
        }
        items
    }

    #[device]
    pub(super) fn store<T: Element>(self, to: GlobalMut<T>, items: &[T; ITEMS]) {
        let to = to.skip(self.first);
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item);
            if place < self.len {
                to.store(place, items[item]);
            }
        }
    }
}

/// Runs `sort` and stores how long the block took for it.
#[device]
fn timed<R>(cycles: GlobalMut<u32>, sort: impl FnOnce() -> R) -> R {
    thread::barrier();
    let start = thread::clock();
    let result = sort();
    thread::barrier();
    let end = thread::clock();
    if thread::index() == 0 {
        cycles.store(thread::block() as usize, (end - start) as u32);
    }
    result
}

impl<K: RadixKey> SortTileKeys<K> {
    fn sort_keys<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let tile = SortTile::new::<BLOCK>(self.len);
        let sort = RadixSort::<K, BLOCK, ITEMS>::take(&mut arena);
        // Padding sorts last whatever the bits: it is largest, comes last, and the sort is stable.
        let mut own = tile.load(self.keys, K::ONES);
        timed(self.cycles, || sort.sort_keys(&mut own, self.begin, self.end));
        tile.store(self.sorted, &own);
    }
}

impl<K: RadixKey, V: Element> SortTilePairs<K, V> {
    fn sort_pairs<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let tile = SortTile::new::<BLOCK>(self.len);
        let sort = RadixSort::<K, BLOCK, ITEMS>::take(&mut arena);
        let value_exchange = arena.take(BLOCK * ITEMS);
        let mut own_keys = tile.load(self.keys, K::ONES);
        let mut own_values = tile.load(self.values, V::ZERO);
        timed(self.cycles, || {
            sort.sort_pairs(value_exchange, &mut own_keys, &mut own_values, self.begin, self.end);
        });
        tile.store(self.sorted_keys, &own_keys);
        tile.store(self.sorted_values, &own_values);
    }
}

impl<K: RadixKey> SortTilePermutation<K> {
    fn sort_permutation<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let tile = SortTile::new::<BLOCK>(self.len);
        let sort = RadixSort::<K, BLOCK, ITEMS>::take(&mut arena);
        let mut own = tile.load(self.keys, K::ONES.low_bits(self.bits));
        let own_permutation = timed(self.cycles, || sort.sort_permutation(&mut own, self.bits));
        tile.store(self.sorted, &own);
        tile.store(self.permutation, &own_permutation);
    }
}
