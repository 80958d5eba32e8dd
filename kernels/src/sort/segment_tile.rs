//! Sorts of segments that fit a tile, one block per tile: by the bits of the key, and then by the number of the segment in
//! the tile, which travels with the key (Dalton, Baxter, Merrill, Olson, Garland, IPDPS 2015, section III-C: sort by the
//! needed bits only). Both sorts are stable, so every segment ends up in its place, sorted.
//!
//! The numbers of segments take one or two passes more; a tile of one segment needs none.
// Iterators over two arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{kernel, parameters, thread, warp, Arena, Element, Global, GlobalMut, Shared};

use super::segments::Part;
use super::tile::Tile;
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
    /// Sorts the keys of the segments that fit tiles: one block per part.
    pub struct SortSegmentKeys<K: RadixKey> {
        /// The keys.
        pub keys: Global<K>,
        /// Output: each segment's keys, sorted.
        pub sorted_keys: GlobalMut<K>,
        /// The segments, and what they are sorted by.
        pub segments: SegmentTiles<K>,
    }
    shared: shared_bytes::<K, BLOCK, ITEMS>();
    body: SortSegmentKeys::sort_keys::<BLOCK, ITEMS>;
    entries: {
        sort_segment_keys_u32 in sort_segments_32: <K = u32>, 256 x 11;
        sort_segment_keys_u64 in sort_segments_64: <K = u64>, 256 x 8 resident 2;
    }
}

kernel! {
    /// Sorts the keys of the segments that fit tiles, with their values: one block per part.
    pub struct SortSegmentPairs<K: RadixKey, V: Element> {
        /// The keys.
        pub keys: Global<K>,
        /// Output: each segment's keys, sorted.
        pub sorted_keys: GlobalMut<K>,
        /// The values, one per key.
        pub values: Global<V>,
        /// Output: the keys' values.
        pub sorted_values: GlobalMut<V>,
        /// The segments, and what they are sorted by.
        pub segments: SegmentTiles<K>,
    }
    shared: shared_bytes::<K, BLOCK, ITEMS>();
    body: SortSegmentPairs::sort_pairs::<BLOCK, ITEMS>;
    entries: {
        sort_segment_pairs_u32_u32 in sort_segments_32: <K = u32, V = u32>, 256 x 11;
        sort_segment_pairs_u32_u64 in sort_segments_32: <K = u32, V = u64>, 256 x 11;
        sort_segment_pairs_u64_u32 in sort_segments_64: <K = u64, V = u32>, 256 x 8;
        sort_segment_pairs_u64_u64 in sort_segments_64: <K = u64, V = u64>, 256 x 8;
    }
}

impl<K: RadixKey> SortSegmentKeys<K> {
    fn sort_keys<const BLOCK: usize, const ITEMS: usize>(self, arena: Arena) {
        self.segments.sort::<BLOCK, ITEMS>(arena, self.keys, self.sorted_keys, |_, _| ());
    }
}

impl<K: RadixKey, V: Element> SortSegmentPairs<K, V> {
    fn sort_pairs<const BLOCK: usize, const ITEMS: usize>(self, arena: Arena) {
        // Values are loaded once, in their new order: their old places are all within the tile.
        let move_values = |tile: Tile<ITEMS>, origins: &[u32; ITEMS]| {
            let values = self.values.skip(tile.first);
            let mut own = [V::ZERO; ITEMS];
            for item in 0..ITEMS {
                let place = (origins[item] & ((1 << PLACE_BITS) - 1)) as usize;
                // Padding comes last, and its place is past the last value.
                own[item] = values.load(if place < tile.len { place } else { tile.len - 1 });
            }
            tile.store(self.sorted_values, &own);
        };
        self.segments.sort::<BLOCK, ITEMS>(arena, self.keys, self.sorted_keys, move_values);
    }
}

parameters! {
    /// Segments that fit tiles, and what they are sorted by.
    pub struct SegmentTiles<K: RadixKey> {
        /// What each block sorts: see [`CutSegments`](super::CutSegments).
        pub parts: Global<u64>,
        /// One bit per element, set where a segment begins.
        pub heads: Global<u32>,
        /// How keys become sortable.
        pub order: KeyOrder<K>,
        /// The lowest bit to sort by.
        pub begin: u32,
        /// One more than the highest.
        pub end: u32,
    }
}

impl<K: RadixKey> SegmentTiles<K> {
    /// Sorts the block's part. `finish` gets the tile and, of each key of the thread, the place that it had before, in
    /// its low [`PLACE_BITS`] bits.
    #[inline(always)]
    fn sort<const BLOCK: usize, const ITEMS: usize>(
        self,
        mut arena: Arena,
        keys: Global<K>,
        sorted_keys: GlobalMut<K>,
        finish: impl FnOnce(Tile<ITEMS>, &[u32; ITEMS]),
    ) {
        const { assert!(BLOCK * ITEMS <= 1 << PLACE_BITS) };
        let part = Part::unpack(self.parts.load(thread::block() as usize));
        if part.len == 0 {
            return;
        }
        let tile = Tile::<ITEMS> { first: part.first, len: part.len };
        let sort = RadixSort::<K, BLOCK, ITEMS>::take(&mut arena);
        let exchange: Shared<u32> = arena.take(BLOCK * ITEMS);
        let heads: NumberedBits<BLOCK, ITEMS> = NumberedBits::take(&mut arena);
        let scan = CountScan::take(&mut arena);

        // 1. Load the keys, and number their segments. Padding is in the last segment, behind its largest key.
        let mut own = tile.load(keys, K::ONES.into_key(self.order));
        for item in 0..ITEMS {
            own[item] = own[item].to_sortable(self.order);
        }
        for item in 0..ITEMS {
            heads.set_word(item, warp::ballot(warp::FULL, self.begins_segment(tile, item)));
        }
        let count = heads.number(scan);
        let mut origins = [0; ITEMS];
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item) as u32;
            origins[item] = (heads.count_to(place) - 1) << PLACE_BITS | place;
        }
        // 2. Sort by key, then by segment. Segments of one element each are sorted.
        if (count as usize) < tile.len {
            sort.sort_pairs(exchange, &mut own, &mut origins, self.begin, self.end);
            if count > 1 {
                thread::barrier();
                let end = PLACE_BITS + bits_of(count - 1);
                sort.of(exchange).sort_pairs(sort.sorted(), &mut origins, &mut own, PLACE_BITS, end);
            }
        }
        // 3. Store what is sorted.
        for item in 0..ITEMS {
            own[item] = own[item].into_key(self.order);
        }
        tile.store(sorted_keys, &own);
        finish(tile, &origins);
    }

    /// Whether an item of this thread is the first of a segment.
    #[inline(always)]
    fn begins_segment<const ITEMS: usize>(self, tile: Tile<ITEMS>, item: usize) -> bool {
        let place = warp_striped::<ITEMS>(item);
        let element = tile.first + place.min(tile.len - 1);
        place < tile.len && self.heads.load(element / 32) >> (element % 32) & 1 != 0
    }
}
