//! Segmented scan over the threads of a block: one value per thread.

use evenpath_simt::{device, thread, warp, Arena, Element, Shared};

/// Shared memory of a segmented scan over `BLOCK` threads.
#[derive(Debug, Clone, Copy)]
pub struct SegmentedScan<V, const BLOCK: usize> {
    sums: Shared<V>,
    heads: Shared<u32>,
}

/// Result of a segmented scan for a thread.
#[derive(Debug, Clone, Copy)]
pub struct Scanned<V> {
    /// Sum of the values before this thread's, back to the last head.
    pub before: V,
    /// The sum at the end of the block: all values starting at the last head.
    pub total: V,
}

impl<V: Element + core::ops::Add<Output = V>, const BLOCK: usize> SegmentedScan<V, BLOCK> {
    const WARPS: usize = BLOCK / thread::WARP_SIZE as usize;

    /// Bytes of shared memory that [`take`](Self::take) takes.
    pub const BYTES: usize = Self::WARPS * (V::SIZE + 4);

    /// Takes the scan's memory from an arena.
    #[device]
    pub fn take(arena: &mut Arena) -> Self {
        Self { sums: arena.take(Self::WARPS), heads: arena.take(Self::WARPS) }
    }

    /// Scans the block's values in order of threads; a thread that is a `head` starts a new sum with
    /// its own value. The order of additions depends only on `BLOCK` and the heads.
    ///
    /// Every thread of the block calls it. It has one barrier, before which the scan's memory is
    /// written: a second scan in the same memory needs a barrier between.
    #[device(track_caller)]
    pub fn exclusive(self, value: V, head: bool) -> Scanned<V> {
        let lane = thread::lane();
        let heads = warp::ballot(warp::FULL, head);
        let inclusive = warp_inclusive(value, heads, lane);
        let own_warp = thread::warp() as usize;
        if lane == thread::WARP_SIZE - 1 {
            self.sums.store(own_warp, inclusive);
            self.heads.store(own_warp, heads);
        }
        thread::barrier();

        // Every thread computes the carries of all warps: there are few, and it saves a second barrier.
        let mut carry = V::ZERO;
        let mut before_warp = V::ZERO;
        let mut index = 0;
        while index < Self::WARPS {
            if index == own_warp {
                before_warp = carry;
            }
            let sum = self.sums.load(index);
            carry = if self.heads.load(index) != 0 { sum } else { carry + sum };
            index += 1;
        }

        let shifted = warp::shuffle_up(warp::FULL, inclusive, 1);
        let heads_before = heads & ((1 << lane) - 1);
        let before = if lane == 0 {
            before_warp
        } else if heads_before == 0 {
            before_warp + shifted
        } else {
            shifted
        };
        Scanned { before, total: carry }
    }
}

/// Returns the inclusive segmented scan of a warp; `heads` has a bit for each lane that starts a segment.
#[device(track_caller)]
pub fn warp_inclusive<V: Element + core::ops::Add<Output = V>>(value: V, heads: u32, lane: u32) -> V {
    // The number of lanes below that belong to this lane's segment.
    let below_or_own = heads & (u32::MAX >> (thread::WARP_SIZE - 1 - lane));
    let start = below_or_own.checked_ilog2().unwrap_or(0);
    let reach = lane - start;
    let mut sum = value;
    let mut distance = 1;
    while distance < thread::WARP_SIZE {
        let other = warp::shuffle_up(warp::FULL, sum, distance);
        if distance <= reach {
            sum = other + sum;
        }
        distance *= 2;
    }
    sum
}
