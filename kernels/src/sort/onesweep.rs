//! Onesweep: a pass of the device's radix sort reads and writes the data once (Adinets, Merrill,
//! "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022).
//!
//! The histogram of every digit is known before the pass. A block draws a tile by an atomic ticket, ranks the tile's
//! keys by the pass's digit, and finds by *decoupled look-back* the number of keys with each digit in the tiles before:
//! every tile publishes one word per digit, first its own count, then the sum up to and including it, and reads its
//! predecessors' words back to the nearest sum. Tickets are drawn in order, so a block only waits for blocks that
//! already run, and no order of blocks can stall the grid. Count and state share a word, which is loaded and stored
//! whole, so relaxed accesses suffice: they publish no other data.
//!
//! Counts have 30 bits. Longer inputs are sorted in *portions*, one launch each: the last tile of a portion writes the
//! places at which the next one continues.
use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, parameters, thread, Arena, Element, Global, GlobalMut, Shared};

use super::sorted_tile::{SortedPlaces, SortedTile};
use crate::block::radix_rank::{BinCounts, Digit, KeyOrder, RadixKey, RadixRank, BINS};
use crate::block::radix_sort::warp_striped;

/// The most keys of one launch: their number fits a status word.
pub const MAX_PORTION_KEYS: usize = (1 << COUNT_BITS) - 1;

/// Words per pass in the array of bases: two rows, which portions read and write in turn.
pub const BASES_PER_PASS: usize = 2 * BINS;

/// Words of status that a launch over `tiles` tiles needs: one per tile and digit; before them the ticket, and the
/// words that a look-back reads before the first tile.
pub const fn status_words(tiles: usize) -> usize {
    (LOOKED_AT + tiles) * BINS
}

/// Bytes of launch-sized shared memory of a tile; `value_bytes` is 0 without values. No kernel needs more than 64 KiB,
/// which every GPU has.
pub const fn shared_bytes(key_bytes: usize, value_bytes: usize, block: usize, items: usize) -> u32 {
    let exchange = block * items * if key_bytes > value_bytes { key_bytes } else { value_bytes };
    let counters = RadixRank::<128>::bytes_for(block);
    (BINS * 8 + 16 + if exchange > counters { exchange } else { counters }) as u32
}

kernel! {
    /// One pass over a portion of keys.
    pub struct OnesweepKeys<K: RadixKey> {
        /// The keys, `len`.
        pub keys: Global<K>,
        /// Output: all keys of the sort, at their places by this digit.
        pub sorted_keys: GlobalMut<K>,
        /// The pass, and the portion.
        pub pass: Pass<K>,
    }
    shared: 0;
    body: OnesweepKeys::keys_pass::<BLOCK, ITEMS>;
    entry: sort_onesweep_keys_{K} in sort_keys_{K bits}: (K, N) in [(u32, 21), (u64, 14)], 384 x N resident 3;
}

kernel! {
    /// One pass over a portion of keys with values.
    pub struct OnesweepPairs<K: RadixKey, V: Element> {
        /// The keys, `len`.
        pub keys: Global<K>,
        /// Output: all keys of the sort, at their places by this digit.
        pub sorted_keys: GlobalMut<K>,
        /// The values, `len`.
        pub values: Global<V>,
        /// Output: all values of the sort, where their keys are.
        pub sorted_values: GlobalMut<V>,
        /// The pass, and the portion.
        pub pass: Pass<K>,
    }
    shared: 0;
    body: OnesweepPairs::pairs_pass::<BLOCK, ITEMS>;
    entry: sort_onesweep_pairs_{K}_{V} in sort_pairs_{K bits}:
        (K, V, B, N) in [(u32, u32, 384, 22), (u32, u64, 512, 11), (u64, u32, 384, 17), (u64, u64, 384, 13)], B x N resident 2;
}

impl<K: RadixKey> OnesweepKeys<K> {
    fn keys_pass<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let arena = Arena::dynamic(shared_bytes(K::SIZE, 0, BLOCK, ITEMS));
        let values: Option<(Global<u32>, GlobalMut<u32>)> = None;
        self.pass.run::<u32, BLOCK, ITEMS>(arena, (self.keys, self.sorted_keys), values);
    }
}

impl<K: RadixKey, V: Element> OnesweepPairs<K, V> {
    fn pairs_pass<const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let arena = Arena::dynamic(shared_bytes(K::SIZE, V::SIZE, BLOCK, ITEMS));
        let values = Some((self.values, self.sorted_values));
        self.pass.run::<V, BLOCK, ITEMS>(arena, (self.keys, self.sorted_keys), values);
    }
}

parameters! {
    /// One pass over a portion: what its blocks share.
    pub struct Pass<K: RadixKey> {
        /// First place for the keys of each digit in this portion.
        pub bases: Global<u64>,
        /// Output: the same for the next portion.
        pub next_bases: GlobalMut<u64>,
        /// [`status_words`], zero before.
        pub status: GlobalMut<u32>,
        /// Conversion of keys that are read to sortable ones: the identity after the first pass.
        pub order_in: KeyOrder<K>,
        /// Conversion that made the written keys sortable: the identity before the last pass.
        pub order_out: KeyOrder<K>,
        /// Keys of the portion, up to [`MAX_PORTION_KEYS`]; the grid is one block per tile.
        pub len: u32,
        /// Digit by which the keys are sorted.
        pub digit: Digit,
    }
}

/// Distance in tiles from the loaded tile to the prefetched one: about a third of the tiles that a large GPU has in
/// flight, which is the fastest. A tile that is prefetched much earlier has left the cache before it is loaded.
const AHEAD: usize = 100;

/// Bytes of a line of the second-level cache.
const LINE_BYTES: usize = 128;

impl<K: RadixKey> Pass<K> {
    #[device]
    fn run<V: Element, const BLOCK: usize, const ITEMS: usize>(
        self,
        mut arena: Arena,
        (keys, sorted_keys): (Global<K>, GlobalMut<K>),
        values: Option<(Global<V>, GlobalMut<V>)>,
    ) {
        let Self { order_in, order_out, .. } = self;
        const { assert!(BLOCK >= BINS && BLOCK * ITEMS <= 1 << 16) };
        let tile_len = BLOCK * ITEMS;
        let bin_bases: Shared<u64> = arena.take(BINS);
        // Four words, of which three keep what follows aligned.
        let ticket: Shared<u32> = arena.take(4);
        // Keys, and then values, are exchanged through the ranking's memory, once every place is known.
        let rank: RadixRank<BLOCK> = RadixRank::take(&mut { arena });
        let key_exchange: Shared<K> = { arena }.take(tile_len);

        // 1. Draw a tile.
        rank.clear();
        let tile = self.draw_tile(ticket);
        let first = tile as usize * tile_len;
        let left = self.len - first as u32;
        let tile_keys = if left < tile_len as u32 { left } else { tile_len as u32 };

        // 2. Load its keys. Padding has the largest digit and comes last: it takes the tile's last places.
        let padding = K::ONES.into_key(order_in);
        let mut own = load::<K, ITEMS>(keys.skip(first), tile_keys, tile_len, padding);
        self.prefetch::<K, BLOCK, ITEMS>(keys, first);
        if !order_in.is_identity() {
            for item in 0..ITEMS {
                own[item] = own[item].to_sortable(order_in);
            }
        }
        // 3. Count the digits, and publish the counts for the tiles that follow.
        let alike = rank.count(&own, self.digit);
        thread::barrier();
        let bins = rank.scan(self.digit, |bin, count| self.publish(tile, bin, state_of(tile), count));
        thread::barrier();
        // 4. Rank the keys. The counters' addresses are computed again: kept since the count, they would cost a register
        // per item.
        let digit = Digit { begin: thread::opaque(self.digit.begin), bits: self.digit.bits };
        let ranked = rank.rank(&own, digit, alike);
        let mut places = SortedPlaces::new();
        for item in 0..ITEMS {
            places.set(item, ranked[item]);
        }
        let places = places.packed();
        let words = self.first_words(tile);
        thread::barrier();
        for item in 0..ITEMS {
            key_exchange.store(places.get(item), own[item]);
        }
        // 5. Load the values; they arrive while the block looks back and stores keys.
        let mut own_values = [V::ZERO; ITEMS];
        if let Some((values, _)) = values {
            own_values = load::<V, ITEMS>(values.skip(first), tile_keys, tile_len, V::ZERO);
            self.prefetch::<V, BLOCK, ITEMS>(values, first);
        }
        // 6. Look back for where each digit's keys go.
        self.place_bins(tile, words, bins, tile_len as u32 - tile_keys, bin_bases);
        thread::barrier();

        // 7. Store the keys, and then the values, digit by digit.
        let tile = SortedTile::<BLOCK, ITEMS> { len: tile_keys, digit: self.digit, bin_bases };
        let digits = tile.store_keys(key_exchange, sorted_keys, order_out);
        if let Some((_, sorted_values)) = values {
            let value_exchange: Shared<V> = arena.take(tile_len);
            thread::barrier();
            for item in 0..ITEMS {
                value_exchange.store(places.get(item), own_values[item]);
            }
            thread::barrier();
            tile.store_values(value_exchange, sorted_values, &digits);
        }
    }

    /// Prefetches the keys, or values, of a tile that a later block will load. `first` is this tile's first element.
    #[device]
    fn prefetch<T: Element, const BLOCK: usize, const ITEMS: usize>(self, from: Global<T>, first: usize) {
        let line_len = LINE_BYTES / T::SIZE;
        let ahead = first + AHEAD * BLOCK * ITEMS;
        let mut place = thread::index() as usize * line_len;
        while place < BLOCK * ITEMS && ahead + place < self.len as usize {
            from.prefetch(ahead + place);
            place += BLOCK * line_len;
        }
    }

    /// Returns the block's tile: the number of blocks that have drawn before. One barrier.
    #[device]
    fn draw_tile(self, ticket: Shared<u32>) -> u32 {
        if thread::index() == 0 {
            ticket.store(0, self.status.fetch_add(0, 1, Ordering::Relaxed, Scope::Device));
        }
        thread::barrier();
        ticket.load(0)
    }

    #[device]
    fn publish(self, tile: u32, bin: usize, state: u32, count: u32) {
        let word = state << COUNT_BITS | count;
        self.status.atomic_store(word_of(tile, bin), word, Ordering::Relaxed, Scope::Device);
    }

    /// Finds the places in the output for the tile's keys of each digit, one digit per thread: the difference to a
    /// key's place in the tile. The last tile, which has `padding` places too many, also writes the places at which the
    /// next portion continues.
    #[device]
    fn place_bins(
        self,
        tile: u32,
        words: StatusWords,
        bins: BinCounts,
        padding: u32,
        bin_bases: Shared<u64>,
    ) {
        let bin = thread::index();
        if bin >= self.digit.bins() {
            return;
        }
        let bin = bin as usize;
        let (count, start) = (bins.count[0], bins.start[0]);
        let first = self.bases.load(bin);
        let mut before = 0;
        if tile > 0 {
            before = self.look_back(tile, bin, words);
            self.publish(tile, bin, SUM, before + count);
        }
        let base = first + u64::from(before);
        // Never negative: smaller digits of this tile lie before the base, with those of all others.
        bin_bases.store(bin, base - u64::from(start));
        if tile == thread::grid_size() - 1 {
            let padded = if bin as u32 == self.digit.bins() - 1 { padding } else { 0 };
            self.next_bases.store(bin, base + u64::from(count - padded));
        }
    }

    /// Loads the first words that a look-back reads of this thread's digit. They arrive while keys are exchanged.
    #[device]
    fn first_words(self, tile: u32) -> StatusWords {
        if tile > 0 && thread::index() < self.digit.bins() {
            self.words(tile, thread::index() as usize)
        } else {
            [0; LOOKED_AT]
        }
    }

    /// Returns the words of the tiles before `tile`, the nearest first.
    #[device]
    fn words(self, tile: u32, bin: usize) -> StatusWords {
        let status = self.status.skip(word_of(tile, bin) - LOOKED_AT * BINS);
        let mut words = [0; LOOKED_AT];
        for step in 0..LOOKED_AT {
            let at = (LOOKED_AT - 1 - step) * BINS;
            words[step] = status.atomic_load(at, Ordering::Relaxed, Scope::Device);
        }
        words
    }

    /// Returns the number of keys with this digit in the tiles before `tile`.
    #[device]
    fn look_back(self, tile: u32, bin: usize, mut words: StatusWords) -> u32 {
        let mut sum = 0_u32;
        // The tiles starting at `next`, below `tile`, are in the sum. Tile 0 publishes nothing but a sum, so the search
        // ends there; words before it are read, but not used.
        let mut next = tile;
        loop {
            let mut known = true;
            let mut found = false;
            for step in 0..LOOKED_AT {
                let state = words[step] >> COUNT_BITS;
                known &= state != UNKNOWN;
                if known && !found {
                    // States add up above the counts, and overflow there.
                    sum = sum.wrapping_add(words[step]);
                    next -= 1;
                    found = state == SUM;
                }
            }
            if found {
                return sum & COUNT_MASK;
            }
            thread::spin_hint();
            words = self.words(next, bin);
        }
    }
}

/// Returns the word of status with a tile's count of a digit.
#[device]
fn word_of(tile: u32, bin: usize) -> usize {
    (tile as usize + LOOKED_AT) * BINS + bin
}

/// Predecessors that a look-back reads at once, to hide the latency of the second-level cache.
const LOOKED_AT: usize = 4;

type StatusWords = [u32; LOOKED_AT];

const COUNT_BITS: u32 = 30;
const COUNT_MASK: u32 = (1 << COUNT_BITS) - 1;
/// States of a status word: nothing yet, the tile's own count, the sum up to and including the tile.
const UNKNOWN: u32 = 0;
const OWN: u32 = 1;
const SUM: u32 = 2;

/// Returns the state of a tile's own count: the first tile's count is the sum too.
#[device]
fn state_of(tile: u32) -> u32 {
    if tile == 0 {
        SUM
    } else {
        OWN
    }
}

/// Returns this thread's items of a tile, and `padding` after the last element of the last tile. All loads are issued
/// before the first is used. Items after the last element load it again, which is cheaper than a branch around each
/// load.
#[device]
fn load<T: Element, const ITEMS: usize>(
    from: Global<T>,
    len: u32,
    tile_len: usize,
    padding: T,
) -> [T; ITEMS] {
    let mut items = [padding; ITEMS];
    if len == tile_len as u32 {
        // One address, and differences that are part of the instructions.
        let own = from.skip(warp_striped::<ITEMS>(0));
        for item in 0..ITEMS {
            items[item] = own.load_streaming(item * thread::WARP_SIZE as usize);
        }
    } else {
        for item in 0..ITEMS {
            let place = warp_striped::<ITEMS>(item) as u32;
            let value = from.load_streaming(if place < len { place } else { len - 1 } as usize);
            items[item] = if place < len { value } else { padding };
        }
    }
    items
}
