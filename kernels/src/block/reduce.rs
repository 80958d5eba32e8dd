//! Reductions over the threads of a block.

use evenpath_simt::{device, thread, warp, Arena, Element, Shared};

/// Shared memory of a reduction over `BLOCK` threads: one element per warp.
#[derive(Debug, Clone, Copy)]
pub struct BlockReduce<V, const BLOCK: usize> {
    partials: Shared<V>,
}

impl<V: Element, const BLOCK: usize> BlockReduce<V, BLOCK> {
    const WARPS: usize = BLOCK / thread::WARP_SIZE as usize;

    /// Bytes of shared memory that [`take`](Self::take) takes.
    pub const BYTES: usize = Self::WARPS * V::SIZE;

    /// Takes the reduction's memory from an arena.
    #[device(track_caller)]
    pub fn take(arena: &mut Arena) -> Self {
        Self::new(arena.take(Self::WARPS))
    }

    /// Returns a reduction through memory that holds an element per warp.
    #[device]
    pub fn new(partials: Shared<V>) -> Self {
        Self { partials }
    }

    /// Combines the values of each warp with `op` and shares the results. Then [`total`](Self::total) gives the result
    /// of the block.
    ///
    /// Every thread of the block calls it. It has one barrier, before which the memory is written: a second reduction in
    /// the same memory needs a barrier between.
    #[device(track_caller)]
    pub fn share(self, value: V, op: impl Fn(V, V) -> V) {
        let value = warp::reduce(value, op);
        if thread::lane() == 0 {
            self.partials.store(thread::warp() as usize, value);
        }
        thread::barrier();
    }

    /// Combines what the warps have [shared](Self::share), in order of warps. Any thread may call it.
    #[device(track_caller)]
    pub fn total(self, op: impl Fn(V, V) -> V) -> V {
        let mut total = self.partials.load(0);
        for warp in 1..Self::WARPS {
            total = op(total, self.partials.load(warp));
        }
        total
    }
}

impl<V: Element + core::ops::Add<Output = V>, const BLOCK: usize> BlockReduce<V, BLOCK> {
    /// Returns the sum over the block, in every thread; as [`share`](Self::share) and [`total`](Self::total).
    #[device(track_caller)]
    pub fn sum(self, value: V) -> V {
        self.share(value, |a, b| a + b);
        self.total(|a, b| a + b)
    }
}
