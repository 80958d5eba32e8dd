//! Radix sort of the keys of a block, by a range of their bits.
use evenpath_simt::{device, thread, Arena, Element, Shared};

use super::radix_rank::{Digit, Passes, RadixKey, RadixRank};

/// A stable sort of `BLOCK` × `ITEMS` keys, warp-striped (see [`radix_rank`](super::radix_rank)) before and
/// after.
///
/// A pass sorts by up to 8 bits: it ranks the keys and exchanges them through shared memory, with four
/// barriers.
#[derive(Debug, Clone, Copy)]
pub struct RadixSort<K, const BLOCK: usize, const ITEMS: usize> {
    rank: RadixRank<BLOCK>,
    exchange: Shared<K>,
}

/// Returns the place of an item of this thread in the block's warp-striped sequence.
#[device]
pub fn warp_striped<const ITEMS: usize>(item: usize) -> usize {
    let first = thread::warp() * (ITEMS as u32 * thread::WARP_SIZE) + thread::lane();
    (first + item as u32 * thread::WARP_SIZE) as usize
}

/// Returns the number of bits of numbers up to `largest`.
#[device]
pub fn bits_of(largest: u32) -> u32 {
    u32::BITS - largest.leading_zeros()
}

impl<K: RadixKey, const BLOCK: usize, const ITEMS: usize> RadixSort<K, BLOCK, ITEMS> {
    /// Keys that are sorted.
    pub const LEN: usize = BLOCK * ITEMS;

    /// Bytes of shared memory that [`take`](Self::take) takes, with what alignment may cost.
    pub const BYTES: usize = RadixRank::<BLOCK>::BYTES + Self::LEN * K::SIZE + K::SIZE;

    /// Bits that a place in the block takes: [`sort_permutation`](Self::sort_permutation) needs them above
    /// the bits it sorts by.
    pub const PLACE_BITS: u32 = (Self::LEN as u32 - 1).ilog2() + 1;

    /// Takes the sort's memory from an arena whose rest begins at a multiple of 16 bytes.
    #[device]
    pub fn take(arena: &mut Arena) -> Self {
        Self { rank: RadixRank::take(arena), exchange: arena.take(Self::LEN) }
    }

    /// Sorts the block's keys by their bits `begin..end`. Every thread of the block calls it; a second sort
    /// in the same memory needs a barrier between.
    #[device(track_caller)]
    pub fn sort_keys(self, keys: &mut [K; ITEMS], begin: u32, end: u32) {
        let passes = Passes::new(begin, end);
        let mut pass = 0;
        while pass < passes.count() {
            self.rank(keys, passes.digit(pass), |item, place| {
                self.exchange.store(place as usize, keys[item]);
            });
            thread::barrier();
            get(self.exchange, keys);
            pass += 1;
        }
    }

    /// Returns a sort of other keys in the same memory, except that these go through `exchange`, [`LEN`](Self::LEN)
    /// elements. A barrier is needed between the two sorts.
    #[device]
    pub fn of<L: RadixKey>(self, exchange: Shared<L>) -> RadixSort<L, BLOCK, ITEMS> {
        RadixSort { rank: self.rank, exchange }
    }

    /// Returns the memory in which a sort by at least one bit leaves the keys, in their order.
    #[device]
    pub fn sorted(self) -> Shared<K> {
        self.exchange
    }

    /// Sorts keys with values, which go through `value_exchange`, [`LEN`](Self::LEN) elements; otherwise like
    /// [`sort_keys`](Self::sort_keys).
    #[device(track_caller)]
    pub fn sort_pairs<V: Element>(
        self,
        value_exchange: Shared<V>,
        keys: &mut [K; ITEMS],
        values: &mut [V; ITEMS],
        begin: u32,
        end: u32,
    ) {
        let passes = Passes::new(begin, end);
        let mut pass = 0;
        while pass < passes.count() {
            self.rank(keys, passes.digit(pass), |item, place| {
                self.exchange.store(place as usize, keys[item]);
                value_exchange.store(place as usize, values[item]);
            });
            thread::barrier();
            get(self.exchange, keys);
            get(value_exchange, values);
            pass += 1;
        }
    }

    /// Sorts keys below 2^`bits` and returns the place that each had before. The places travel in the keys'
    /// unused upper bits, so that only keys are moved (Dalton, Baxter, Merrill, Olson, Garland,
    /// "Optimizing Sparse Matrix Operations on GPUs using Merge Path", IPDPS 2015, section III-C).
    ///
    /// `bits` + [`PLACE_BITS`](Self::PLACE_BITS) are at most the key's bits. Otherwise it is like
    /// [`sort_keys`](Self::sort_keys).
    #[device(track_caller)]
    pub fn sort_permutation(self, keys: &mut [K; ITEMS], bits: u32) -> [u16; ITEMS] {
        for item in 0..ITEMS {
            keys[item] = keys[item].with_bits(warp_striped::<ITEMS>(item) as u32, bits);
        }
        self.sort_keys(keys, 0, bits);
        let mut permutation = [0; ITEMS];
        for item in 0..ITEMS {
            permutation[item] = keys[item].bits_from(bits) as u16;
            keys[item] = keys[item].low_bits(bits);
        }
        permutation
    }

    /// Calls `each` with the place of each key after a stable sort by one digit. Places of the pass before may be read until
    /// its first barrier.
    #[device(track_caller)]
    fn rank(self, keys: &[K; ITEMS], digit: Digit, each: impl FnMut(usize, u32)) {
        self.rank.clear();
        let alike = self.rank.count(keys, digit);
        thread::barrier();
        self.rank.scan(digit, |_, _| ());
        thread::barrier();
        // The counters' addresses are computed again: kept since the count, they would cost a register per item.
        let digit = Digit { begin: thread::opaque(digit.begin), bits: digit.bits };
        self.rank.rank_each(keys, digit, alike, each);
    }
}

/// Loads the items at this thread's places.
#[device(track_caller)]
fn get<T: Element, const ITEMS: usize>(exchange: Shared<T>, items: &mut [T; ITEMS]) {
    for item in 0..ITEMS {
        items[item] = exchange.load(warp_striped::<ITEMS>(item));
    }
}
