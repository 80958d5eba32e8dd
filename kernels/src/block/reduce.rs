//! Reductions over the threads of a block.

use evenpath_simt::{thread, warp, Arena, Element, Shared};

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
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn take(arena: &mut Arena) -> Self {
        Self::new(arena.take(Self::WARPS))
    }

    /// A reduction through memory that holds an element per warp.
    #[inline(always)]
    pub fn new(partials: Shared<V>) -> Self {
        Self { partials }
    }

    /// Combines the values of each warp with `op` and shares the results. Then [`total`](Self::total) gives the result
    /// of the block.
    ///
    /// Every thread of the block calls it. It has one barrier, before which the memory is written: a second reduction in
    /// the same memory needs a barrier between.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn share(self, value: V, op: impl Fn(V, V) -> V) {
        let value = warp::reduce(value, op);
        if thread::lane() == 0 {
            self.partials.store(thread::warp() as usize, value);
        }
        thread::barrier();
    }

    /// Combines what the warps have [shared](Self::share), in order of warps. Any thread may call it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn total(self, op: impl Fn(V, V) -> V) -> V {
        let mut total = self.partials.load(0);
        for warp in 1..Self::WARPS {
            total = op(total, self.partials.load(warp));
        }
        total
    }
}

impl<V: Element + core::ops::Add<Output = V>, const BLOCK: usize> BlockReduce<V, BLOCK> {
    /// The sum over the block, in every thread; as [`share`](Self::share) and [`total`](Self::total).
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn sum(self, value: V) -> V {
        self.share(value, |a, b| a + b);
        self.total(|a, b| a + b)
    }
}

#[cfg(test)]
mod tests {
    use evenpath_simt::host::{SimulatedGpu, SimulatedOptions};
    use evenpath_simt::{kernel, GlobalMut};

    use super::*;

    kernel! {
        /// The sum over a block in every thread, and the maximum in thread 0.
        pub struct Reductions {
            pub sums: GlobalMut<u32>,
            pub maximum: GlobalMut<u32>,
        }
        shared: BlockReduce::<u32, BLOCK>::BYTES;
        body: |Reductions { sums, maximum }: Reductions, mut arena: Arena| {
            let reduce = BlockReduce::<u32, BLOCK>::take(&mut arena);
            let thread = thread::index();
            sums.store(thread as usize, reduce.sum(thread * thread));
            thread::barrier();
            reduce.share(1000 - thread.abs_diff(70), u32::max);
            if thread == 0 {
                maximum.store(0, reduce.total(u32::max));
            }
        };
        entries: {
            reductions in reduce: 128 x 1;
        }
    }

    #[test]
    fn sums_and_maxima_of_a_block() {
        let gpu = SimulatedGpu::new(SimulatedOptions::default());
        let (sums, maximum) = (gpu.allocate(128 * 4).expect("memory"), gpu.allocate(4).expect("memory"));
        let kernel = Reductions {
            sums: GlobalMut::from_device(sums, 128),
            maximum: GlobalMut::from_device(maximum, 1),
        };
        gpu.run(kernel, 1).expect("no mistake");
        let mut bytes = [0; 128 * 4];
        gpu.read(sums, &mut bytes).expect("written");
        let expected: u32 = (0..128).map(|thread| thread * thread).sum();
        for sum in bytes.chunks_exact(4) {
            assert_eq!(sum, expected.to_le_bytes());
        }
        let mut bytes = [0; 4];
        gpu.read(maximum, &mut bytes).expect("written");
        assert_eq!(bytes, 1000_u32.to_le_bytes());
    }
}
