//! Exclusive sum of one count per thread: where in the block's output each thread's items go.

use core::ops::{Add, AddAssign, Sub};

use evenpath_simt::{device, thread, warp, Arena, Element, Shared};

/// The type of counts: `u32`, or `u64`, which may also pack several small counts.
pub trait Count: Element + Add<Output = Self> + AddAssign + Sub<Output = Self> {}

impl Count for u32 {}
impl Count for u64 {}

/// Shared memory of a scan of counts over `BLOCK` threads.
#[derive(Debug, Clone, Copy)]
pub struct CountScan<C, const BLOCK: usize> {
    totals: Shared<C>,
}

/// Result of a scan of counts for a thread.
#[derive(Debug, Clone, Copy)]
pub struct ScannedCount<C> {
    /// The counts of the threads before this one.
    pub before: C,
    /// The counts of the whole block.
    pub total: C,
}

impl<C: Count, const BLOCK: usize> CountScan<C, BLOCK> {
    const WARPS: usize = BLOCK / thread::WARP_SIZE as usize;

    /// Bytes of shared memory that [`take`](Self::take) takes.
    pub const BYTES: usize = Self::WARPS * C::SIZE;

    /// Takes the scan's memory from an arena.
    #[device]
    pub fn take(arena: &mut Arena) -> Self {
        Self { totals: arena.take(Self::WARPS) }
    }

    /// Sums the block's counts in order of threads. Every thread of the block calls it. It has one
    /// barrier, before which the scan's memory is written: a second scan in the same memory needs a
    /// barrier between.
    #[device(track_caller)]
    pub fn exclusive(self, count: C) -> ScannedCount<C> {
        let inclusive = warp::inclusive_sum(count);
        let own_warp = thread::warp() as usize;
        if thread::lane() == thread::WARP_SIZE - 1 {
            self.totals.store(own_warp, inclusive);
        }
        thread::barrier();
        let mut before = inclusive - count;
        let mut total = C::ZERO;
        for warp in 0..Self::WARPS {
            let sum = self.totals.load(warp);
            if warp < own_warp {
                before += sum;
            }
            total += sum;
        }
        ScannedCount { before, total }
    }
}
