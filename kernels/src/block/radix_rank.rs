//! Ranking by one digit: the place of each key in a stable sort of the block's keys by that digit.
//!
//! Keys are *warp-striped*: item `i` of lane `l` in warp `w` stands at place `w·32·ITEMS + i·32 + l` of
//! the block's sequence, which is also the order of coalesced loads. Each warp counts its digits in a row of
//! counters; a scan over digits and, within a digit, over warps turns counts into places, so that the block's
//! counts are known before any key is ranked (Adinets, Merrill, "Onesweep: A Faster Least Significant Digit
//! Radix Sort for GPUs", 2022). Then each warp takes its keys item by item: lanes with equal digits find each
//! other by setting their bits in one word per digit, which costs the same for digits of any width. Ballots, one
//! per bit, would keep the arithmetic units busy for longer than this keeps the shared memory.
use evenpath_simt::{device, parameters, thread, warp, Arena, Shared};

use crate::Key;

/// The most bits of a digit.
pub const DIGIT_BITS: u32 = 8;

/// The most values of a digit.
pub const BINS: usize = 1 << DIGIT_BITS;

/// The most warps of a block, and digits that a thread scans: lengths of arrays in registers.
const MAX_WARPS: usize = 16;
const MAX_BINS_PER_THREAD: usize = 2;

/// Items that one piece of straight code ranks.
const GROUP: usize = 6;

/// Key of a radix sort: the bits of an unsigned integer.
pub trait RadixKey: Key + core::ops::BitAnd<Output = Self> {
    /// Bits of the key.
    const BITS: u32;
    /// The key with all bits one.
    const ONES: Self;
    /// Returns the low 32 bits of the key shifted right by `begin`, which is below [`BITS`](Self::BITS).
    fn bits_from(self, begin: u32) -> u32;
    /// Returns the key shifted left by `count`, which is below [`BITS`](Self::BITS).
    #[must_use]
    fn shifted_left(self, count: u32) -> Self;
    /// `value` in the bits starting at `begin`, beside the key's own.
    #[must_use]
    fn with_bits(self, value: u32, begin: u32) -> Self;
    /// Returns the bits below `count`, which may be [`BITS`](Self::BITS).
    #[must_use]
    fn low_bits(self, count: u32) -> Self;
    /// Returns the bits that sort as unsigned integers as the keys do; see [`KeyOrder`].
    #[must_use]
    fn to_sortable(self, order: KeyOrder<Self>) -> Self;
    /// Returns the inverse of [`to_sortable`](Self::to_sortable).
    #[must_use]
    fn into_key(self, order: KeyOrder<Self>) -> Self;
}

parameters! {
    /// Conversion of a key type's bits to unsigned integers of the same order: first the bits of `flip_negative` are
    /// flipped where the sign bit is set, then those of `flip` in all keys. The sign bit is not part of
    /// `flip_negative`. Both are zero for unsigned keys in ascending order.
    pub struct KeyOrder<K: RadixKey> {
        /// Bits that are flipped in negative keys.
        pub flip_negative: K,
        /// Bits that are flipped in all keys.
        pub flip: K,
    }
}

impl<K: RadixKey> KeyOrder<K> {
    /// Unsigned integers in ascending order, which are sortable as they are.
    pub const UNSIGNED: Self = Self { flip_negative: K::ZERO, flip: K::ZERO };

    /// Returns whether keys are sortable as they are.
    #[device]
    #[must_use]
    pub fn is_identity(self) -> bool {
        self.flip_negative == K::ZERO && self.flip == K::ZERO
    }
}

macro_rules! radix_keys {
    ($($type:ident as $signed:ident),*) => {$(
        impl RadixKey for $type {
            const BITS: u32 = $type::BITS;
            const ONES: Self = $type::MAX;
            #[device]
            fn bits_from(self, begin: u32) -> u32 {
                (self >> begin) as u32
            }
            #[device]
            fn shifted_left(self, count: u32) -> Self {
                self << count
            }
            #[device]
            fn with_bits(self, value: u32, begin: u32) -> Self {
                self | $type::from(value) << begin
            }
            #[device]
            fn low_bits(self, count: u32) -> Self {
                if count == Self::BITS { self } else { self & ((1 << count) - 1) }
            }
            #[device]
            fn to_sortable(self, order: KeyOrder<Self>) -> Self {
                let sign = (self as $signed >> (Self::BITS - 1)) as $type;
                self ^ (sign & order.flip_negative) ^ order.flip
            }
            #[device]
            fn into_key(self, order: KeyOrder<Self>) -> Self {
                let key = self ^ order.flip;
                let sign = (key as $signed >> (Self::BITS - 1)) as $type;
                key ^ (sign & order.flip_negative)
            }
        }
    )*};
}
radix_keys!(u32 as i32, u64 as i64);

parameters! {
    /// The bits of a key that one pass sorts by.
    pub struct Digit {
        /// The lowest.
        pub begin: u32,
        /// Number of bits, 1 to [`DIGIT_BITS`].
        pub bits: u32,
    }
}

/// The passes that sort by a range of bits. Their widths are as equal as possible, which beats a small remainder: the
/// fewer values a digit has, the longer are the runs that a pass stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passes {
    begin: u32,
    count: u32,
    width: u32,
    /// Passes, the first ones, with one bit more.
    longer: u32,
}

impl Passes {
    /// Returns the passes over the bits `begin..end`; none where there are no bits.
    #[device]
    pub fn new(begin: u32, end: u32) -> Self {
        let bits = end - begin;
        let count = bits.div_ceil(DIGIT_BITS);
        let divisor = if count == 0 { 1 } else { count };
        Self { begin, count, width: bits / divisor, longer: bits % divisor }
    }

    /// Returns the number of passes.
    #[device]
    pub fn count(self) -> u32 {
        self.count
    }

    /// Returns the digit by which pass `pass` sorts.
    #[device]
    pub fn digit(self, pass: u32) -> Digit {
        let longer_before = if pass < self.longer { pass } else { self.longer };
        let begin = self.begin + pass * self.width + longer_before;
        Digit { begin, bits: self.width + u32::from(pass < self.longer) }
    }
}

impl Digit {
    /// Values that the digit can have.
    #[device]
    #[must_use]
    pub fn bins(self) -> u32 {
        1 << self.bits
    }

    /// Returns the digit's value in a key.
    #[device]
    #[must_use]
    pub fn of<K: RadixKey>(self, key: K) -> usize {
        (key.bits_from(self.begin) & (self.bins() - 1)) as usize
    }
}

/// The ranking memory of a block of `BLOCK` threads: a multiple of 128, up to 512. Each warp has a row of every array.
#[derive(Debug, Clone, Copy)]
pub struct RadixRank<const BLOCK: usize> {
    /// First how many of the warp's keys have each digit, then where the next of them goes.
    counters: Shared<u32>,
    /// While one key per lane is ranked, the lanes with each digit, one bit per lane; otherwise zero.
    lanes: Shared<u32>,
    warp_sums: Shared<u32>,
}

/// Number of keys of the block with the digits that one thread scans, and with smaller digits.
#[derive(Debug, Clone, Copy)]
pub struct BinCounts {
    /// Keys with each digit.
    pub count: [u32; MAX_BINS_PER_THREAD],
    /// Keys with a smaller digit.
    pub start: [u32; MAX_BINS_PER_THREAD],
}

impl<const BLOCK: usize> RadixRank<BLOCK> {
    const WARPS: usize = BLOCK / thread::WARP_SIZE as usize;
    const BINS_PER_THREAD: usize = BINS.div_ceil(BLOCK);

    /// Bytes of shared memory that [`take`](Self::take) takes.
    pub const BYTES: usize = Self::bytes_for(BLOCK);

    /// [`BYTES`](Self::BYTES) for blocks of another size.
    pub const fn bytes_for(block: usize) -> usize {
        let warps = block / thread::WARP_SIZE as usize;
        (2 * warps * BINS + warps) * 4
    }

    /// Takes the memory from an arena whose rest begins at a multiple of 16 bytes.
    #[device]
    pub fn take(arena: &mut Arena) -> Self {
        const { assert!(Self::WARPS <= MAX_WARPS && Self::WARPS.is_multiple_of(4)) };
        const { assert!(Self::BINS_PER_THREAD <= MAX_BINS_PER_THREAD) };
        Self {
            counters: arena.take(Self::WARPS * BINS),
            lanes: arena.take(Self::WARPS * BINS),
            warp_sums: arena.take(Self::WARPS),
        }
    }

    /// Returns the first digit that this thread scans; the others follow it.
    #[device]
    pub fn first_bin() -> usize {
        thread::index() as usize * Self::BINS_PER_THREAD
    }

    /// Returns the counter of a key's digit in this warp's row.
    #[device]
    fn counter<K: RadixKey>(key: K, digit: Digit) -> usize {
        (thread::warp() as usize * BINS) | digit.of(key)
    }

    /// Sets this warp's rows to zero. Every lane of the warp calls it, after a barrier or a warp
    /// barrier that follows the warp's last use of them.
    #[device(track_caller)]
    pub fn clear(self) {
        let first = thread::warp() as usize * BINS + 4 * thread::lane() as usize;
        for part in 0..BINS / 128 {
            self.counters.store_16(first + part * 128, [0; 2]);
            self.lanes.store_16(first + part * 128, [0; 2]);
        }
        warp::sync(warp::FULL);
    }

    /// Counts the warp's keys by their digit, in counters that [`clear`](Self::clear) has set to zero. Returns whether
    /// all of the warp's keys have the same digit.
    #[device(track_caller)]
    pub fn count<K: RadixKey, const ITEMS: usize>(self, keys: &[K; ITEMS], digit: Digit) -> bool {
        for item in 0..ITEMS {
            self.counters.fetch_add(Self::counter(keys[item], digit), 1);
        }
        warp::sync(warp::FULL);
        let count = self.counters.load(Self::counter(keys[0], digit));
        warp::all(warp::FULL, count == thread::WARP_SIZE * ITEMS as u32)
    }

    /// Turns the warps' counts into the places where their keys go: after it, and a barrier, [`rank`](Self::rank) works.
    ///
    /// Every thread of the block calls it, after a barrier after [`count`](Self::count). `publish` gets each digit that
    /// this thread scans and its count in the block, as soon as it is known. It has one barrier.
    #[device(track_caller)]
    pub fn scan(self, digit: Digit, publish: impl Fn(usize, u32)) -> BinCounts {
        let first = Self::first_bin();
        let mut bins = BinCounts { count: [0; MAX_BINS_PER_THREAD], start: [0; MAX_BINS_PER_THREAD] };
        let mut before = [[0; MAX_WARPS]; MAX_BINS_PER_THREAD];
        let mut sum = 0;
        for bin in 0..Self::BINS_PER_THREAD {
            if first + bin < digit.bins() as usize {
                let mut counts = [0; MAX_WARPS];
                for warp in 0..Self::WARPS {
                    counts[warp] = self.counters.load(warp * BINS + first + bin);
                }
                for warp in 0..Self::WARPS {
                    before[bin][warp] = bins.count[bin];
                    bins.count[bin] += counts[warp];
                }
                publish(first + bin, bins.count[bin]);
            }
            sum += bins.count[bin];
        }
        let mut start = self.exclusive_sum(sum);
        for bin in 0..Self::BINS_PER_THREAD {
            bins.start[bin] = start;
            start += bins.count[bin];
            if first + bin < digit.bins() as usize {
                for warp in 0..Self::WARPS {
                    self.counters.store(warp * BINS + first + bin, bins.start[bin] + before[bin][warp]);
                }
            }
        }
        bins
    }

    /// Returns the sum of `value` over the threads before this one, of those that have digits to scan. One barrier.
    #[device(track_caller)]
    fn exclusive_sum(self, value: u32) -> u32 {
        let scanning = BINS.div_ceil(Self::BINS_PER_THREAD * thread::WARP_SIZE as usize);
        let inclusive = warp::inclusive_sum(value);
        let own_warp = thread::warp() as usize;
        if thread::lane() == thread::WARP_SIZE - 1 {
            self.warp_sums.store(own_warp, inclusive);
        }
        thread::barrier();
        let mut sums = [0; MAX_WARPS];
        for warp in 0..scanning - 1 {
            sums[warp] = self.warp_sums.load(warp);
        }
        let mut before = inclusive - value;
        for warp in 0..scanning - 1 {
            before += if warp < own_warp { sums[warp] } else { 0 };
        }
        before
    }

    /// Returns the place of each key in the block's keys, stably sorted by the digit. `alike` is the result of
    /// [`count`](Self::count).
    #[device(track_caller)]
    pub fn rank<K: RadixKey, const ITEMS: usize>(
        self,
        keys: &[K; ITEMS],
        digit: Digit,
        alike: bool,
    ) -> [u32; ITEMS] {
        let mut places = [0; ITEMS];
        self.rank_each(keys, digit, alike, |item, place| places[item] = place);
        places
    }

    /// [`rank`](Self::rank), but `each` gets every item and its place as soon as it is known: an array of places would
    /// take a register per item.
    #[device(track_caller)]
    pub fn rank_each<K: RadixKey, const ITEMS: usize>(
        self,
        keys: &[K; ITEMS],
        digit: Digit,
        alike: bool,
        mut each: impl FnMut(usize, u32),
    ) {
        const { assert!(ITEMS <= 4 * GROUP) };
        if alike {
            // There is nothing to search for, and a search would be slowest here, with all lanes in one word.
            let first = self.counters.load(Self::counter(keys[0], digit)) + thread::lane();
            for item in 0..ITEMS {
                each(item, first + item as u32 * thread::WARP_SIZE);
            }
        } else {
            // Not a loop: the compiler would keep it, and the arrays would leave registers for local memory.
            self.rank_group(keys, digit, &mut each, 0);
            self.rank_group(keys, digit, &mut each, GROUP);
            self.rank_group(keys, digit, &mut each, 2 * GROUP);
            self.rank_group(keys, digit, &mut each, 3 * GROUP);
        }
    }

    /// Up to `GROUP` places starting at item `first`.
    #[device(track_caller)]
    fn rank_group<K: RadixKey, const ITEMS: usize>(
        self,
        keys: &[K; ITEMS],
        digit: Digit,
        each: &mut impl FnMut(usize, u32),
        first: usize,
    ) {
        let own = 1_u32 << thread::lane();
        for item in first..first + GROUP {
            if item < ITEMS {
                let counter = Self::counter(keys[item], digit);
                // The lanes' bits are distinct: to add is to set, and to subtract to clear.
                self.lanes.fetch_add(counter, own);
                let start = self.counters.load(counter);
                warp::sync(warp::FULL);
                let equal = self.lanes.load(counter);
                self.counters.fetch_add(counter, 1);
                warp::sync(warp::FULL);
                self.lanes.fetch_add(counter, own.wrapping_neg());
                each(item, start + (equal & (own - 1)).count_ones());
            }
        }
    }
}
