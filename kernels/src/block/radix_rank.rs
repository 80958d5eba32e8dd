//! Ranking by one digit: the place of each key in a stable sort of the block's keys by that digit.
//!
//! Keys are *warp-striped*: item `i` of lane `l` in warp `w` stands at place `w·32·ITEMS + i·32 + l` of
//! the block's sequence, which is also the order of coalesced loads. Each warp finds the lanes with equal
//! digits by one ballot a bit and counts them in its own counters (Adinets, Merrill, "Onesweep: A Faster
//! Least Significant Digit Radix Sort for GPUs", 2022); a scan over digits and, within a digit, over
//! warps turns counts into places.
// Iterators over two arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{thread, warp, Arena, Element, Shared};

/// Bits of a digit, at most.
pub const DIGIT_BITS: u32 = 8;

/// Values of a digit, at most.
pub const BINS: usize = 1 << DIGIT_BITS;

/// Warps of a block, and digits that a thread scans, at most: lengths of arrays in registers.
const MAX_WARPS: usize = 16;
const MAX_BINS_PER_THREAD: usize = 2;

/// Items that one piece of straight code ranks.
const GROUP: usize = 6;

/// Warps whose counts are in registers at once; divides the number of warps.
const WARP_GROUP: usize = 4;

/// What is sorted by: the bits of an unsigned integer.
pub trait RadixKey: Element + core::ops::BitAnd<Output = Self> {
    /// Bits of the key.
    const BITS: u32;
    /// The key with all bits one.
    const ONES: Self;
    /// The low 32 bits of the key shifted right by `begin`, which is below [`BITS`](Self::BITS).
    fn bits_from(self, begin: u32) -> u32;
    /// The key with bit `index` one and all others zero.
    fn single_bit(index: u32) -> Self;
    /// The key shifted left by `count`, which is below [`BITS`](Self::BITS).
    #[must_use]
    fn shifted_left(self, count: u32) -> Self;
    /// `value` in the bits from `begin` on, beside the key's own.
    #[must_use]
    fn with_bits(self, value: u32, begin: u32) -> Self;
    /// The bits below `count`, which may be [`BITS`](Self::BITS).
    #[must_use]
    fn low_bits(self, count: u32) -> Self;
    /// The bits that sort as unsigned integers as the keys do; see [`KeyOrder`].
    #[must_use]
    fn to_sortable(self, order: KeyOrder<Self>) -> Self;
    /// The inverse of [`to_sortable`](Self::to_sortable).
    #[must_use]
    fn into_key(self, order: KeyOrder<Self>) -> Self;
}

/// How the bits of a key type become unsigned integers of the same order: first the bits of
/// `flip_negative` are flipped where the sign bit is set, then those of `flip` in all keys. The sign bit
/// is not part of `flip_negative`. Both are zero for unsigned keys in ascending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyOrder<K> {
    /// Bits that negative keys have flipped.
    pub flip_negative: K,
    /// Bits that all keys have flipped.
    pub flip: K,
}

macro_rules! radix_keys {
    ($($type:ident as $signed:ident),*) => {$(
        impl RadixKey for $type {
            const BITS: u32 = $type::BITS;
            const ONES: Self = $type::MAX;
            #[inline(always)]
            fn bits_from(self, begin: u32) -> u32 {
                (self >> begin) as u32
            }
            #[inline(always)]
            fn single_bit(index: u32) -> Self {
                1 << index
            }
            #[inline(always)]
            fn shifted_left(self, count: u32) -> Self {
                self << count
            }
            #[inline(always)]
            fn with_bits(self, value: u32, begin: u32) -> Self {
                self | $type::from(value) << begin
            }
            #[inline(always)]
            fn low_bits(self, count: u32) -> Self {
                if count == Self::BITS { self } else { self & ((1 << count) - 1) }
            }
            #[inline(always)]
            fn to_sortable(self, order: KeyOrder<Self>) -> Self {
                let sign = (self as $signed >> (Self::BITS - 1)) as $type;
                self ^ (sign & order.flip_negative) ^ order.flip
            }
            #[inline(always)]
            fn into_key(self, order: KeyOrder<Self>) -> Self {
                let key = self ^ order.flip;
                let sign = (key as $signed >> (Self::BITS - 1)) as $type;
                key ^ (sign & order.flip_negative)
            }
        }
    )*};
}
radix_keys!(u32 as i32, u64 as i64);

/// The bits of a key that one pass sorts by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digit {
    /// The lowest.
    pub begin: u32,
    /// How many: 1 to [`DIGIT_BITS`].
    pub bits: u32,
}

/// The passes that sort by a range of bits. All are as equal as can be, which beats a small remainder
/// because ranking takes time by the bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passes {
    begin: u32,
    count: u32,
    width: u32,
    /// Passes, the first ones, with one bit more.
    longer: u32,
}

impl Passes {
    /// The passes over the bits `begin..end`; none where there are no bits.
    #[inline(always)]
    pub fn new(begin: u32, end: u32) -> Self {
        let bits = end - begin;
        let count = bits.div_ceil(DIGIT_BITS);
        let divisor = if count == 0 { 1 } else { count };
        Self { begin, count, width: bits / divisor, longer: bits % divisor }
    }

    /// How many there are.
    #[inline(always)]
    pub fn count(self) -> u32 {
        self.count
    }

    /// What pass `pass` sorts by.
    #[inline(always)]
    pub fn digit(self, pass: u32) -> Digit {
        let longer_before = if pass < self.longer { pass } else { self.longer };
        let begin = self.begin + pass * self.width + longer_before;
        Digit { begin, bits: self.width + u32::from(pass < self.longer) }
    }
}

impl Digit {
    /// Values that the digit can have.
    #[inline(always)]
    #[must_use]
    pub fn bins(self) -> u32 {
        1 << self.bits
    }

    /// The digit's value in a key.
    #[inline(always)]
    #[must_use]
    pub fn of<K: RadixKey>(self, key: K) -> usize {
        (key.bits_from(self.begin) & (self.bins() - 1)) as usize
    }
}

/// The counters of a block of `BLOCK` threads: a multiple of 128, up to 512.
#[derive(Debug, Clone, Copy)]
pub struct RadixRank<const BLOCK: usize> {
    /// Row `w` is warp `w`'s.
    counters: Shared<u32>,
    warp_sums: Shared<u32>,
}

/// How many keys of the block have the digits that one thread scans, and how many smaller digits.
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
        (warps * BINS + warps) * 4
    }

    /// Takes the counters' memory from an arena.
    #[inline(always)]
    pub fn take(arena: &mut Arena) -> Self {
        const { assert!(Self::WARPS <= MAX_WARPS && Self::WARPS.is_multiple_of(WARP_GROUP)) };
        const { assert!(Self::BINS_PER_THREAD <= MAX_BINS_PER_THREAD) };
        Self { counters: arena.take(Self::WARPS * BINS), warp_sums: arena.take(Self::WARPS) }
    }

    /// The first digit that this thread scans; the others follow it.
    #[inline(always)]
    pub fn first_bin() -> usize {
        thread::index() as usize * Self::BINS_PER_THREAD
    }

    #[inline(always)]
    fn own_row() -> usize {
        thread::warp() as usize * BINS
    }

    /// Sets this warp's counters to zero. Every lane of the warp calls it, after a barrier or a warp
    /// barrier that follows the warp's last use of them.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn clear(self, digit: Digit) {
        let mut bin = thread::lane();
        while bin < digit.bins() {
            self.counters.store(Self::own_row() + bin as usize, 0);
            bin += thread::WARP_SIZE;
        }
        warp::sync(warp::FULL);
    }

    /// The rank of each key among those of its warp with the same digit; leaves the warp's counts in the
    /// counters, which [`clear`](Self::clear) has set to zero.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn rank_in_warp<K: RadixKey, const ITEMS: usize>(
        self,
        keys: &[K; ITEMS],
        digit: Digit,
    ) -> [u32; ITEMS] {
        const { assert!(ITEMS <= 4 * GROUP) };
        let mut ranks = equal_lanes(keys, digit);
        // Not a loop: the compiler would keep it, and the arrays would leave registers for local memory.
        self.rank_group(keys, digit, &mut ranks, 0);
        self.rank_group(keys, digit, &mut ranks, GROUP);
        self.rank_group(keys, digit, &mut ranks, 2 * GROUP);
        self.rank_group(keys, digit, &mut ranks, 3 * GROUP);
        ranks
    }

    /// Replaces, for up to `GROUP` items from `first` on, the set of lanes with equal digits by the rank.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn rank_group<K: RadixKey, const ITEMS: usize>(
        self,
        keys: &[K; ITEMS],
        digit: Digit,
        ranks: &mut [u32; ITEMS],
        first: usize,
    ) {
        let above = u32::MAX << thread::lane() << 1;
        for item in first..first + GROUP {
            if item < ITEMS {
                let equal = ranks[item];
                let counter = Self::own_row() + digit.of(keys[item]);
                let before = self.counters.load(counter);
                let end = before + (equal & !above).count_ones();
                warp::sync(warp::FULL);
                // The highest of the equal lanes counts for all of them: the end of its rank is theirs.
                if equal & above == 0 {
                    self.counters.store(counter, end);
                }
                warp::sync(warp::FULL);
                // Else the additions would be put off until the rank is used, with twice the registers.
                ranks[item] = thread::opaque(end - 1);
            }
        }
    }

    /// Turns the warps' counts into places: after it, and a barrier, [`place`](Self::place) works.
    ///
    /// Every thread of the block calls it, after a barrier behind [`rank_in_warp`](Self::rank_in_warp).
    /// `publish` gets each digit that this thread scans and its count in the block, as soon as it is
    /// known. It has one barrier.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn scan(self, digit: Digit, publish: impl Fn(usize, u32)) -> BinCounts {
        let first = Self::first_bin();
        let mut bins = BinCounts { count: [0; MAX_BINS_PER_THREAD], start: [0; MAX_BINS_PER_THREAD] };
        let mut sum = 0;
        for bin in 0..Self::BINS_PER_THREAD {
            if first + bin < digit.bins() as usize {
                for warp in 0..Self::WARPS {
                    bins.count[bin] += self.counters.load(warp * BINS + first + bin);
                }
                publish(first + bin, bins.count[bin]);
            }
            sum += bins.count[bin];
        }
        let mut start = self.exclusive_sum(sum);
        for bin in 0..Self::BINS_PER_THREAD {
            bins.start[bin] = start;
            if first + bin < digit.bins() as usize {
                // Read again, a few at a time: registers are scarcer than loads.
                for group in 0..Self::WARPS / WARP_GROUP {
                    let row = group * WARP_GROUP * BINS + first + bin;
                    let mut counts = [0; WARP_GROUP];
                    for warp in 0..WARP_GROUP {
                        counts[warp] = self.counters.load(row + warp * BINS);
                    }
                    for warp in 0..WARP_GROUP {
                        self.counters.store(row + warp * BINS, start);
                        start += counts[warp];
                    }
                }
            }
        }
        bins
    }

    /// The sum of `value` over the threads before this one. One barrier.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    fn exclusive_sum(self, value: u32) -> u32 {
        let mut inclusive = value;
        for step in 0..5 {
            let below = warp::shuffle_up(warp::FULL, inclusive, 1 << step);
            if thread::lane() >= 1 << step {
                inclusive += below;
            }
        }
        let own_warp = thread::warp() as usize;
        if thread::lane() == thread::WARP_SIZE - 1 {
            self.warp_sums.store(own_warp, inclusive);
        }
        thread::barrier();
        let mut sums = [0; MAX_WARPS];
        for warp in 0..Self::WARPS - 1 {
            sums[warp] = self.warp_sums.load(warp);
        }
        let mut before = inclusive - value;
        for warp in 0..Self::WARPS - 1 {
            before += if warp < own_warp { sums[warp] } else { 0 };
        }
        before
    }

    /// The place in the block of a key with the given rank in its warp.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn place<K: RadixKey>(self, key: K, digit: Digit, rank: u32) -> usize {
        (self.counters.load(Self::own_row() + digit.of(key)) + rank) as usize
    }
}

/// For each item, the lanes whose key has the same digit as this lane's.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn equal_lanes<K: RadixKey, const ITEMS: usize>(keys: &[K; ITEMS], digit: Digit) -> [u32; ITEMS] {
    let mut equal = [warp::FULL; ITEMS];
    let mut bit = 0;
    while bit < digit.bits {
        let mask = K::single_bit(digit.begin + bit);
        for item in 0..ITEMS {
            let set = (keys[item] & mask) != K::ZERO;
            let flip = if set { 0 } else { u32::MAX };
            equal[item] &= warp::ballot(warp::FULL, set) ^ flip;
        }
        bit += 1;
    }
    equal
}
