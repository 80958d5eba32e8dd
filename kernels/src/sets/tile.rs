use evenpath_simt::{kernel, thread, Arena, Global, GlobalMut, Shared};

use super::partition::decode;
use super::walk::{scatter, Share};
use super::{RESULT_SIZE, RESULT_STATES};
use crate::block::balanced_path::Cut;
use crate::block::count_scan::{CountScan, Counted};
use crate::block::lookback::{Lookback, Tickets};
use crate::block::output;
use crate::block::two_sequences::{staged_bytes, Fetched, TilePair};
use crate::key::Combine;
use crate::{Bits, Key};

kernel! {
    /// Computes a set operation of keys, a tile a block; tiles are drawn by ticket.
    pub struct SetKeys<K: Key> {
        /// The first sequence, sorted, `a_len` long.
        pub a: Global<K>,
        /// The second sequence, sorted, `b_len` long.
        pub b: Global<K>,
        /// Where the tiles begin, from [`SetPartition`](super::SetPartition).
        pub starts: Global<u64>,
        /// The state that [`SetPartition`](super::SetPartition) prepared; in it the size of the result.
        pub states: GlobalMut<u64>,
        /// Output: the result's keys, sorted; what is behind `capacity` is not written.
        pub result: GlobalMut<K>,
        /// Elements of A.
        pub a_len: u64,
        /// Elements of B.
        pub b_len: u64,
        /// Elements of the result that are written at most.
        pub capacity: u64,
        /// What is kept: bits of [`keep`](super::keep).
        pub operation: u32,
        /// Tiles.
        pub tiles: u32,
    }
    shared: 0;
    body: keys::<K, BLOCK, ITEMS>;
    entries: {
        sets_keys_u32 in sets_u32: <K = u32>, 256 x 23 resident 5;
        sets_keys_u64 in sets_u64: <K = u64>, 256 x 15 resident 4;
    }
}

fn keys<K: Key, const BLOCK: usize, const ITEMS: usize>(
    _: Arena,
    a: Global<K>,
    b: Global<K>,
    starts: Global<u64>,
    states: GlobalMut<u64>,
    result: GlobalMut<K>,
    a_len: u64,
    b_len: u64,
    capacity: u64,
    operation: u32,
    tiles: u32,
) {
    let mut arena = Arena::dynamic(keys_shared_bytes::<K>(BLOCK, ITEMS));
    let header = Header::<BLOCK>::take(&mut arena);
    let mut memory = Fetched::<K, BLOCK, ITEMS>::take_memory(&mut arena);
    let mut finished = Fetched::<K, BLOCK, ITEMS>::take_memory(&mut arena);
    let inputs = Inputs::<BLOCK, ITEMS> { starts, states, a_len, b_len, tiles };
    let (mut tile, mut pair) = header.first(&inputs);
    let mut fetched = pair.fetch::<K, BLOCK, ITEMS>(a, b);
    let mut pending = Pending::NONE;
    while tile < tiles {
        let staged = fetched.stage(memory);
        let ticket = inputs.draw();
        thread::barrier();
        let start = Share::<K, ITEMS>::search(&pair, staged);
        let bounds = inputs.bounds(ticket);
        let share = Share::<K, ITEMS>::walk(&pair, staged, start);
        let kept = share.kept(operation);
        header.announce(&inputs, ticket, bounds);
        header.find_place(states, tiles, pending);
        // The scan's barrier lets the results go where the tile was, and tells the next tile and the place.
        let counted = header.count(states, tile, tiles, kept);
        share.scatter_keys(kept, memory, counted.before);
        let (next, next_pair) = header.announced();
        fetched = next_pair.fetch::<K, BLOCK, ITEMS>(a, b);
        let (start, count) = header.place(pending, capacity);
        output::store::<K, BLOCK, ITEMS>(finished, result, start, count);
        thread::barrier();
        pending = Pending { tile, count: counted.total };
        (memory, finished) = (finished, memory);
        (tile, pair) = (next, next_pair);
    }
    header.find_place(states, tiles, pending);
    thread::barrier();
    let (start, count) = header.place(pending, capacity);
    output::store::<K, BLOCK, ITEMS>(finished, result, start, count);
}

kernel! {
    /// Computes a set operation of pairs of key and value, a tile a block; tiles are drawn by ticket.
    pub struct SetPairs<K: Key, V: Bits> {
        /// The first sequence's keys, sorted, `a_len`.
        pub a_keys: Global<K>,
        /// Their values.
        pub a_values: Global<V>,
        /// The second sequence's keys, sorted, `b_len`.
        pub b_keys: Global<K>,
        /// Their values.
        pub b_values: Global<V>,
        /// Where the tiles begin, from [`SetPartition`](super::SetPartition).
        pub starts: Global<u64>,
        /// The state that [`SetPartition`](super::SetPartition) prepared; in it the size of the result.
        pub states: GlobalMut<u64>,
        /// Output: the result's keys, sorted; what is behind `capacity` is not written.
        pub keys: GlobalMut<K>,
        /// Output: their values.
        pub values: GlobalMut<V>,
        /// Elements of A.
        pub a_len: u64,
        /// Elements of B.
        pub b_len: u64,
        /// Elements of the result that are written at most.
        pub capacity: u64,
        /// What is kept: bits of [`keep`](super::keep).
        pub operation: u32,
        /// The value of a match: the code of a [`Combine`].
        pub combine: u32,
        /// Tiles.
        pub tiles: u32,
    }
    shared: 0;
    body: pairs::<K, V, BLOCK, ITEMS>;
    entries: {
        sets_pairs_u32_32 in sets_pairs_u32: <K = u32, V = u32>, 256 x 15 resident 4;
        sets_pairs_u32_64 in sets_pairs_u32: <K = u32, V = u64>, 256 x 13 resident 4;
        sets_pairs_u64_32 in sets_pairs_u64: <K = u64, V = u32>, 256 x 13 resident 4;
        sets_pairs_u64_64 in sets_pairs_u64: <K = u64, V = u64>, 256 x 11 resident 4;
    }
}

fn pairs<K: Key, V: Bits, const BLOCK: usize, const ITEMS: usize>(
    _: Arena,
    a_keys: Global<K>,
    a_values: Global<V>,
    b_keys: Global<K>,
    b_values: Global<V>,
    starts: Global<u64>,
    states: GlobalMut<u64>,
    keys: GlobalMut<K>,
    values: GlobalMut<V>,
    a_len: u64,
    b_len: u64,
    capacity: u64,
    operation: u32,
    combine: u32,
    tiles: u32,
) {
    let mut arena = Arena::dynamic(pairs_shared_bytes::<K, V>(BLOCK, ITEMS));
    let header = Header::<BLOCK>::take(&mut arena);
    let mut key_memory = Fetched::<K, BLOCK, ITEMS>::take_memory(&mut arena);
    let mut value_memory = Fetched::<V, BLOCK, ITEMS>::take_memory(&mut arena);
    let mut finished_keys = Fetched::<K, BLOCK, ITEMS>::take_memory(&mut arena);
    let mut finished_values = Fetched::<V, BLOCK, ITEMS>::take_memory(&mut arena);
    let inputs = Inputs::<BLOCK, ITEMS> { starts, states, a_len, b_len, tiles };
    let (mut tile, mut pair) = header.first(&inputs);
    let mut fetched_keys = pair.fetch::<K, BLOCK, ITEMS>(a_keys, b_keys);
    let mut fetched_values = pair.fetch::<V, BLOCK, ITEMS>(a_values, b_values);
    let mut pending = Pending::NONE;
    while tile < tiles {
        let staged_keys = fetched_keys.stage(key_memory);
        let staged_values = fetched_values.stage(value_memory);
        let ticket = inputs.draw();
        thread::barrier();
        let start = Share::<K, ITEMS>::search(&pair, staged_keys);
        let bounds = inputs.bounds(ticket);
        let share = Share::<K, ITEMS>::walk(&pair, staged_keys, start);
        let kept = share.kept(operation);
        header.announce(&inputs, ticket, bounds);
        header.find_place(states, tiles, pending);
        // The scan's barrier lets the keys go where the tile's were, and tells the next tile and the place.
        let counted = header.count(states, tile, tiles, kept);
        share.scatter_keys(kept, key_memory, counted.before);
        let own_values = share.gather(kept, staged_values, Combine::from_code(combine));
        thread::barrier();
        scatter(&own_values, kept, value_memory, counted.before);
        let (next, next_pair) = header.announced();
        fetched_keys = next_pair.fetch::<K, BLOCK, ITEMS>(a_keys, b_keys);
        fetched_values = next_pair.fetch::<V, BLOCK, ITEMS>(a_values, b_values);
        let (start, count) = header.place(pending, capacity);
        output::store::<K, BLOCK, ITEMS>(finished_keys, keys, start, count);
        output::store::<V, BLOCK, ITEMS>(finished_values, values, start, count);
        thread::barrier();
        pending = Pending { tile, count: counted.total };
        (key_memory, finished_keys) = (finished_keys, key_memory);
        (value_memory, finished_values) = (finished_values, value_memory);
        (tile, pair) = (next, next_pair);
    }
    header.find_place(states, tiles, pending);
    thread::barrier();
    let (start, count) = header.place(pending, capacity);
    output::store::<K, BLOCK, ITEMS>(finished_keys, keys, start, count);
    output::store::<V, BLOCK, ITEMS>(finished_values, values, start, count);
}

/// Bytes of launch-sized shared memory of [`SetKeys`].
pub const fn keys_shared_bytes<K: evenpath_simt::Element>(block: usize, items: usize) -> u32 {
    (HEADER_BYTES + 2 * staged_bytes::<K>(block, items)) as u32
}

/// Bytes of launch-sized shared memory of [`SetPairs`].
pub const fn pairs_shared_bytes<K: evenpath_simt::Element, V: evenpath_simt::Element>(
    block: usize,
    items: usize,
) -> u32 {
    (HEADER_BYTES + 2 * staged_bytes::<K>(block, items) + 2 * staged_bytes::<V>(block, items)) as u32
}

const HEADER_BYTES: usize = 128;

#[derive(Clone, Copy)]
struct Pending {
    tile: u32,
    count: u32,
}

impl Pending {
    const NONE: Self = Self { tile: u32::MAX, count: 0 };
}

/// Where tiles come from.
pub(super) struct Inputs<const BLOCK: usize, const ITEMS: usize> {
    pub(super) starts: Global<u64>,
    pub(super) states: GlobalMut<u64>,
    pub(super) a_len: u64,
    pub(super) b_len: u64,
    pub(super) tiles: u32,
}

impl<const BLOCK: usize, const ITEMS: usize> Inputs<BLOCK, ITEMS> {
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn draw(&self) -> u32 {
        if thread::index() == 0 {
            Tickets::new(self.states).draw()
        } else {
            0
        }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn bounds(&self, ticket: u32) -> [u64; 2] {
        if thread::index() == 0 && ticket < self.tiles {
            [self.starts.load(ticket as usize), self.starts.load(ticket as usize + 1)]
        } else {
            [0, 0]
        }
    }
}

/// What the threads of a block agree on.
pub(super) struct Header<const BLOCK: usize> {
    /// The tile's place in the inputs.
    pair: Shared<u64>,
    /// The tile; where its results go.
    words: Shared<u64>,
    scan: CountScan<BLOCK>,
}

const TILE: usize = 0;
const PLACE: usize = 1;
const WORDS: usize = 2;

/// Bytes of a [`Header`], a multiple of 16.
pub(super) const fn header_bytes<const BLOCK: usize>() -> usize {
    (TilePair::WORDS + WORDS) * 8 + CountScan::<BLOCK>::BYTES.next_multiple_of(16)
}

impl<const BLOCK: usize> Header<BLOCK> {
    /// Takes the header's memory, so that what is taken next is aligned to 16 bytes.
    #[inline(always)]
    pub(super) fn take(arena: &mut Arena) -> Self {
        let pair = arena.take(TilePair::WORDS);
        let words = arena.take(WORDS);
        let scan = CountScan::take(arena);
        let used = CountScan::<BLOCK>::BYTES;
        let _: Shared<u32> = arena.take((used.next_multiple_of(16) - used) / 4);
        Self { pair, words, scan }
    }

    /// Draws a tile and finds its place in the inputs.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn first<const ITEMS: usize>(&self, inputs: &Inputs<BLOCK, ITEMS>) -> (u32, TilePair) {
        let ticket = inputs.draw();
        self.announce(inputs, ticket, inputs.bounds(ticket));
        thread::barrier();
        self.announced()
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn announce<const ITEMS: usize>(
        &self,
        inputs: &Inputs<BLOCK, ITEMS>,
        ticket: u32,
        [start, end]: [u64; 2],
    ) {
        if thread::index() == 0 {
            let first = u64::from(ticket) * (BLOCK * ITEMS) as u64;
            let last = (first + (BLOCK * ITEMS) as u64).min(inputs.a_len + inputs.b_len);
            if ticket < inputs.tiles {
                TilePair::between(decode(start, first), decode(end, last), inputs.a_len, inputs.b_len)
                    .store(self.pair);
            } else {
                TilePair::between(Cut { a: 0, b: 0 }, Cut { a: 0, b: 0 }, 0, 0).store(self.pair);
            }
            self.words.store(TILE, u64::from(ticket));
        }
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn announced(&self) -> (u32, TilePair) {
        (self.words.load(TILE) as u32, TilePair::load(self.pair))
    }

    /// Counts the kept steps and tells the other tiles.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn count(&self, states: GlobalMut<u64>, tile: u32, tiles: u32, kept: u32) -> Counted {
        let counted = self.scan.exclusive(kept.count_ones());
        if thread::index() == 0 {
            Lookback::new(states.skip(RESULT_STATES), tiles).publish(tile, counted.total);
        }
        counted
    }

    /// Sums a count over the block.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn total(&self, count: u32) -> u32 {
        self.scan.exclusive(count).total
    }

    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn find_place(&self, states: GlobalMut<u64>, tiles: u32, pending: Pending) {
        if thread::warp() == 0 && pending.tile < tiles {
            let before = Lookback::new(states.skip(RESULT_STATES), tiles).prefix(pending.tile);
            if thread::lane() == 0 {
                self.words.store(PLACE, before);
                if pending.tile == tiles - 1 {
                    states.store(RESULT_SIZE, before + u64::from(pending.count));
                }
            }
        }
    }

    /// Where the tile's results go, and how many of them there is room for.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn place(&self, pending: Pending, capacity: u64) -> (usize, u32) {
        if pending.tile == u32::MAX {
            return (0, 0);
        }
        let start = self.words.load(PLACE).min(capacity);
        (start as usize, u64::from(pending.count).min(capacity - start) as u32)
    }
}
