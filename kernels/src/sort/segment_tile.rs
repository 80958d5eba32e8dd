//! Sorts of segments that fit a tile, one block per tile. If all segments of a tile are short, each key counts the keys of its
//! segment that come before it. Otherwise the tile is sorted by the bits of the key, and then by the number of the segment
//! in the tile, which travels with the key (Dalton, Baxter, Merrill, Olson, Garland, IPDPS 2015, section III-C: sort by the
//! needed bits only). Both sorts are stable, so every segment ends up in its place, sorted.
//!
//! The numbers of segments take one or two passes more; a tile of one segment needs none.
use evenpath_simt::{device, kernel, parameters, thread, warp, Arena, Element, Global, GlobalMut, Shared};

use super::segments::{ElementRange, TO_OTHER};
use super::tile::SortTile;
use crate::block::count_scan::CountScan;
use crate::block::numbered_bits::NumberedBits;
use crate::block::radix_rank::{KeyOrder, RadixKey};
use crate::block::radix_sort::{bits_of, warp_striped, RadixSort};

/// Bits of a key's place in its tile, below the number of its segment.
const PLACE_BITS: u32 = 16;

/// Bytes of shared memory of a block.
const fn shared_bytes<K: RadixKey, const BLOCK: usize, const ITEMS: usize>() -> usize {
    let sort = RadixSort::<K, BLOCK, ITEMS>::BYTES + BLOCK * ITEMS * 4;
    sort + NumberedBits::<BLOCK, ITEMS>::BYTES + CountScan::<u32, BLOCK>::BYTES
}

kernel! {
    /// Sorts the keys of the segments that fit tiles: one block per range.
    pub struct SortSegmentKeys<K: RadixKey> {
        /// The keys.
        pub keys: Global<K>,
        /// Output: each range's keys, sorted.
        pub sorted_keys: Targets<K>,
        /// The segments, and the bits by which they are sorted.
        pub segments: SegmentTiles<K>,
    }
    shared: shared_bytes::<K, BLOCK, ITEMS>();
    body: SortSegmentKeys::sort_keys::<BLOCK, ITEMS>;
    entry: sort_segment_keys_{K} in sort_segments_{K bits}: (K, N) in [(u32, 11), (u64, 8)], 256 x N resident 2;
}

kernel! {
    /// Sorts the keys of the segments that fit tiles, with their values: one block per range.
    pub struct SortSegmentPairs<K: RadixKey, V: Element> {
        /// The keys.
        pub keys: Global<K>,
        /// Output: each range's keys, sorted.
        pub sorted_keys: Targets<K>,
        /// The values, one per key.
        pub values: Global<V>,
        /// Output: the keys' values.
        pub sorted_values: Targets<V>,
        /// The segments, and the bits by which they are sorted.
        pub segments: SegmentTiles<K>,
    }
    shared: shared_bytes::<K, BLOCK, ITEMS>();
    body: SortSegmentPairs::sort_pairs::<BLOCK, ITEMS>;
    entry: sort_segment_pairs_{K}_{V} in sort_segments_{K bits}: (K, N) in [(u32, 11), (u64, 8)], V in [u32, u64], 256 x N;
}

parameters! {
    /// Buffers for sorted ranges.
    pub struct Targets<T: Element> {
        /// Buffer of most ranges.
        pub usual: GlobalMut<T>,
        /// Buffer of the ranges that [`ListRuns`](super::ListRuns) marks.
        pub other: GlobalMut<T>,
    }
}

impl<T: Element> Targets<T> {
    #[device]
    fn get(self, to_other: bool) -> GlobalMut<T> {
        if to_other {
            self.other
        } else {
            self.usual
        }
    }
}

parameters! {
    /// Segments that fit tiles, and the bits by which they are sorted.
    pub struct SegmentTiles<K: RadixKey> {
        /// Range of each block: see [`CutSegments`](super::CutSegments) and [`ListRuns`](super::ListRuns).
        pub ranges: Global<u64>,
        /// One bit per element, set where a segment begins.
        pub heads: Global<u32>,
        /// Conversion of keys to sortable ones.
        pub order: KeyOrder<K>,
        /// Conversion of sortable keys back.
        pub stored_order: KeyOrder<K>,
        /// The lowest bit to sort by.
        pub begin: u32,
        /// One more than the highest.
        pub end: u32,
        /// Elements of the longest segment that is sorted by counting, at least 32.
        pub most_counted: u32,
    }
}

/// The values of keys that are moved.
trait TileValues: Copy {
    /// Moves the value at place `from` of the tile to place `to`.
    fn move_one(self, first: usize, to_other: bool, from: usize, to: usize);
    /// Moves all values to their keys. The low [`PLACE_BITS`] bits of an origin are the key's previous place.
    fn move_tile<const ITEMS: usize>(self, tile: SortTile<ITEMS>, to_other: bool, origins: &[u32; ITEMS]);
}

impl TileValues for () {
    #[device]
    fn move_one(self, _: usize, _: bool, _: usize, _: usize) {}
    #[device]
    fn move_tile<const ITEMS: usize>(self, _: SortTile<ITEMS>, _: bool, _: &[u32; ITEMS]) {}
}

impl<V: Element> TileValues for (Global<V>, Targets<V>) {
    #[device(track_caller)]
    fn move_one(self, first: usize, to_other: bool, from: usize, to: usize) {
        self.1.get(to_other).store(first + to, self.0.load_streaming(first + from));
    }

    #[device(track_caller)]
    fn move_tile<const ITEMS: usize>(self, tile: SortTile<ITEMS>, to_other: bool, origins: &[u32; ITEMS]) {
        // Values are loaded once, in their new order: their old places are all within the tile.
        let values = self.0.skip(tile.first);
        let mut own = [V::ZERO; ITEMS];
        for item in 0..ITEMS {
            let place = (origins[item] & ((1 << PLACE_BITS) - 1)) as usize;
            // Padding comes last, and its place is past the last value.
            own[item] = values.load(if place < tile.len { place } else { tile.len - 1 });
        }
        tile.store(self.1.get(to_other), &own);
    }
}

impl<K: RadixKey> SortSegmentKeys<K> {
    fn sort_keys<const BLOCK: usize, const ITEMS: usize>(self, arena: Arena) {
        self.segments.sort::<BLOCK, ITEMS>(arena, self.keys, self.sorted_keys, ());
    }
}

impl<K: RadixKey, V: Element> SortSegmentPairs<K, V> {
    fn sort_pairs<const BLOCK: usize, const ITEMS: usize>(self, arena: Arena) {
        let values = (self.values, self.sorted_values);
        self.segments.sort::<BLOCK, ITEMS>(arena, self.keys, self.sorted_keys, values);
    }
}

/// A block's range, its keys sortable in shared memory, and where its segments begin.
#[derive(Clone, Copy)]
struct Loaded<K, const BLOCK: usize, const ITEMS: usize> {
    tile: SortTile<ITEMS>,
    to_other: bool,
    keys: Shared<K>,
    heads: NumberedBits<BLOCK, ITEMS>,
}

impl<K: RadixKey> SegmentTiles<K> {
    /// Sorts the block's range.
    #[device]
    fn sort<const BLOCK: usize, const ITEMS: usize>(
        self,
        mut arena: Arena,
        keys: Global<K>,
        sorted_keys: Targets<K>,
        values: impl TileValues,
    ) {
        const { assert!(BLOCK * ITEMS <= 1 << PLACE_BITS) };
        let word = self.ranges.load(thread::block() as usize);
        let (range, to_other) = (ElementRange::unpack(word & !TO_OTHER), word & TO_OTHER != 0);
        if range.len == 0 {
            return;
        }
        let tile = SortTile::<ITEMS> { first: range.first, len: range.len };
        let sort = RadixSort::<K, BLOCK, ITEMS>::take(&mut arena);
        let exchange: Shared<u32> = arena.take(BLOCK * ITEMS);
        let heads: NumberedBits<BLOCK, ITEMS> = NumberedBits::take(&mut arena);
        let scan = CountScan::take(&mut arena);

        // Padding is in the last segment, behind its largest key.
        let mut own = tile.load(keys, K::ONES.into_key(self.order));
        for item in 0..ITEMS {
            own[item] = own[item].to_sortable(self.order);
            sort.sorted().store(warp_striped::<ITEMS>(item), own[item]);
            heads.set_word(item, warp::ballot(warp::FULL, self.begins_segment(tile, item)));
        }
        let count = heads.number(scan);
        let loaded = Loaded { tile, to_other, keys: sort.sorted(), heads };
        if heads.has_gap_above(self.most_counted, tile.len as u32, scan) {
            let origins = self.sort_by_digits(loaded, (sort, exchange), &mut own, count);
            for item in 0..ITEMS {
                own[item] = own[item].into_key(self.stored_order);
            }
            tile.store(sorted_keys.get(to_other), &own);
            values.move_tile(tile, to_other, &origins);
        } else {
            self.sort_by_counting(loaded, sorted_keys, values);
        }
    }

    /// Stores each key at its place in its segment: the number of smaller keys there, and of equal keys before it.
    #[device(track_caller)]
    fn sort_by_counting<const BLOCK: usize, const ITEMS: usize>(
        self,
        loaded: Loaded<K, BLOCK, ITEMS>,
        sorted_keys: Targets<K>,
        values: impl TileValues,
    ) {
        let Loaded { tile, to_other, keys, heads } = loaded;
        let mask = K::ONES.low_bits(self.end - self.begin).shifted_left(self.begin);
        let sorted_keys = sorted_keys.get(to_other);
        let end = ((thread::warp() + 1) * ITEMS as u32 * thread::WARP_SIZE).min(tile.len as u32);
        let mut place = thread::warp() * ITEMS as u32 * thread::WARP_SIZE + thread::lane();
        while place < end {
            let key = keys.load(place as usize);
            let first = heads.last_to(place);
            let next = heads.next_after(place, tile.len as u32);
            // From the last to the first: see "A register that changes its meaning" in docs/toolchain.md.
            let (mut position, mut other) = (first, next);
            while other > first {
                other -= 1;
                let compared = keys.load(other as usize) & mask;
                let own = key & mask;
                position += u32::from(compared < own || (compared == own && other < place));
            }
            sorted_keys.store(tile.first + position as usize, key.into_key(self.stored_order));
            values.move_one(tile.first, to_other, place as usize, position as usize);
            place += thread::WARP_SIZE;
        }
    }

    /// Sorts the keys by radix, and then by segment, of which there are `count`. Returns the origins of the thread's
    /// keys: the low [`PLACE_BITS`] bits are the previous place.
    #[device(track_caller)]
    fn sort_by_digits<const BLOCK: usize, const ITEMS: usize>(
        self,
        loaded: Loaded<K, BLOCK, ITEMS>,
        (sort, exchange): (RadixSort<K, BLOCK, ITEMS>, Shared<u32>),
        own: &mut [K; ITEMS],
        count: u32,
    ) -> [u32; ITEMS] {
        let mut origins = [0; ITEMS];
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item) as u32;
            origins[item] = (loaded.heads.count_to(place) - 1) << PLACE_BITS | place;
        }
        sort.sort_pairs(exchange, own, &mut origins, self.begin, self.end);
        if count > 1 {
            thread::barrier();
            let end = PLACE_BITS + bits_of(count - 1);
            sort.of(exchange).sort_pairs(sort.sorted(), &mut origins, own, PLACE_BITS, end);
        }
        origins
    }

    /// Returns whether an item of this thread is the first of a segment, or of the range.
    #[device]
    fn begins_segment<const ITEMS: usize>(self, tile: SortTile<ITEMS>, item: usize) -> bool {
        let place = warp_striped::<ITEMS>(item);
        let element = tile.first + place.min(tile.len - 1);
        let is_head = place == 0 || self.heads.load(element / 32) >> (element % 32) & 1 != 0;
        place < tile.len && is_head
    }
}
