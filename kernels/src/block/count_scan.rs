//! Exclusive sum of one count a thread: where in the block's output each thread's items go.

use evenpath_simt::{thread, warp, Arena, Shared};

/// Shared memory of a scan of counts over `BLOCK` threads.
#[derive(Debug, Clone, Copy)]
pub struct CountScan<const BLOCK: usize> {
    totals: Shared<u32>,
}

/// What a thread learns from a scan of counts.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    /// The counts of the threads before this one.
    pub before: u32,
    /// The counts of the whole block.
    pub total: u32,
}

impl<const BLOCK: usize> CountScan<BLOCK> {
    const WARPS: usize = BLOCK / thread::WARP_SIZE as usize;

    /// Bytes of shared memory that [`take`](Self::take) takes.
    pub const BYTES: usize = Self::WARPS * 4;

    /// Takes the scan's memory from an arena.
    #[inline(always)]
    pub fn take(arena: &mut Arena) -> Self {
        Self { totals: arena.take(Self::WARPS) }
    }

    /// Sums the block's counts in order of threads. Every thread of the block calls it. It has one
    /// barrier, before which the scan's memory is written: a second scan in the same memory needs a
    /// barrier between.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn exclusive(self, count: u32) -> Counted {
        let lane = thread::lane();
        let mut inclusive = count;
        let mut distance = 1;
        while distance < thread::WARP_SIZE {
            let below = warp::shuffle_up(warp::FULL, inclusive, distance);
            if lane >= distance {
                inclusive += below;
            }
            distance *= 2;
        }
        let own_warp = thread::warp() as usize;
        if lane == thread::WARP_SIZE - 1 {
            self.totals.store(own_warp, inclusive);
        }
        thread::barrier();
        let mut before = inclusive - count;
        let mut total = 0;
        for warp in 0..Self::WARPS {
            let sum = self.totals.load(warp);
            if warp < own_warp {
                before += sum;
            }
            total += sum;
        }
        Counted { before, total }
    }
}
