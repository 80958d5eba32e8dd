//! A search by a whole block, for two keys at once.

use evenpath_simt::{device, thread, warp, Arena, Shared};

/// Shared memory of a search over `BLOCK` threads.
///
/// All threads probe for both keys at first: the probes are the same, and do not depend on the keys. Then each half of the
/// block continues for one key. So 256 threads search 2¹⁵ numbers with two loads that wait for each other, and 2²² with
/// three; a thread alone takes 15 and 22, a [warp](super::warp_search) 3 and 5.
#[derive(Debug, Clone, Copy)]
pub struct PairSearch<const BLOCK: usize> {
    /// Number of probes of each warp that lie before each key; those of the next round beside them.
    counts: Shared<u32>,
}

impl<const BLOCK: usize> PairSearch<BLOCK> {
    const WARPS: usize = BLOCK / thread::WARP_SIZE as usize;

    /// Bytes of shared memory that [`take`](Self::take) takes.
    pub const BYTES: usize = 2 * Self::WARPS * 4;

    /// Takes the search's memory from an arena.
    #[device]
    pub fn take(arena: &mut Arena) -> Self {
        const { assert!(Self::WARPS.is_multiple_of(2), "each key has half of the warps") };
        Self { counts: arena.take(2 * Self::WARPS) }
    }

    /// Returns the position that the thread probes first, in a search among the numbers up to `end`: for
    /// [`first`](Self::first). It can be loaded before the keys are known.
    #[device(track_caller)]
    pub fn probe(end: u64, position: impl Fn(u64) -> u64) -> u64 {
        let probe = (u64::from(thread::index()) + 1) * end.div_ceil(BLOCK as u64);
        // No number is 0: `probe` is one past the last of the thread's share.
        if probe > 0 && probe <= end {
            position(probe - 1)
        } else {
            u64::MAX
        }
    }

    /// Returns for each key the first of the numbers in `0..end` whose position is not before it, or `end`. Positions
    /// do not decrease. Every thread of the block calls it, with the same numbers and keys and its own
    /// [`probe`](Self::probe). It has a barrier per round; a second search in the same memory needs one between.
    #[device(track_caller)]
    pub fn first(self, end: u64, keys: (u64, u64), probed: u64, position: impl Fn(u64) -> u64) -> (u64, u64) {
        let half = BLOCK as u64 / 2;
        let is_second = u64::from(thread::index()) >= half;
        let in_half = u64::from(thread::index()) % half;
        let mut share = end.div_ceil(BLOCK as u64);
        let passed = self.count((probed < keys.0, probed < keys.1), 0);
        let mut low = (passed.0 * share, passed.1 * share);
        let mut round = 1;
        while share > 1 {
            // The number at the end of the share is not before the key, or is not there.
            let left = share - 1;
            share = left.div_ceil(half);
            let place = (in_half + 1) * share - 1;
            let (first, key) = if is_second { (low.1, keys.1) } else { (low.0, keys.0) };
            let is_before = place < left && first + place < end && position(first + place) < key;
            let passed = self.count((is_before && !is_second, is_before && is_second), round);
            low = (low.0 + passed.0 * share, low.1 + passed.1 * share);
            round += 1;
        }
        low
    }

    /// Counts the threads of the block in which each of two conditions holds. Rounds take turns with the memory: a
    /// thread that stores in one has passed the barrier of the one before, and so have all threads that load in the
    /// second before it.
    #[device(track_caller)]
    fn count(self, (first, second): (bool, bool), round: usize) -> (u64, u64) {
        let counts = self.counts.skip(round % 2 * Self::WARPS);
        let own = warp::ballot(warp::FULL, first).count_ones()
            | warp::ballot(warp::FULL, second).count_ones() << 16;
        if thread::lane() == 0 {
            counts.store(thread::warp() as usize, own);
        }
        thread::barrier();
        let mut sum = 0;
        for warp in 0..Self::WARPS {
            sum += counts.load(warp);
        }
        (u64::from(sum & 0xffff), u64::from(sum >> 16))
    }
}
