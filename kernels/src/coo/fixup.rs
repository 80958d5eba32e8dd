//! The carries of rows that reach the end of an interval.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, Arena, Arithmetic, Global, GlobalMut, Shared};

use crate::block::reduce::BlockReduce;

kernel! {
    /// Adds to every row the sum of its carries: one thread per carry, of which the first of each row does the work.
    pub struct CarryFixup<V: Arithmetic> {
        /// The row of each carry, in order, from [`CooInterval`](super::CooInterval).
        pub carry_rows: Global<u32>,
        /// The carries.
        pub carries: Global<V>,
        /// The result, one element per row.
        pub y: GlobalMut<V>,
        /// Carries.
        pub count: u32,
        /// Factor of the product.
        pub alpha: V,
    }
    shared: fixup_bytes::<V>(BLOCK);
    body: CarryFixup::fixup::<BLOCK>;
    entries: {
        spmv_coo_fixup_{V} in coo_{V}: V in [f32, f64], 256 x 1;
        spmv_coo_fixup_{V} in spmv_direct_{V}: V in [Complex<f32> as c32, Complex<f64> as c64], 256 x 1;
    }
}

impl<V: Arithmetic> CarryFixup<V> {
    #[device]
    fn fixup<const BLOCK: usize>(self, arena: Arena) {
        let Self { carry_rows, carries, y, count, alpha } = self;
        CarryRuns { carry_rows, carries, count }.each_sum::<BLOCK>(arena, |row, sum| {
            y.store(row as usize, alpha.fma(sum, y.load(row as usize)));
        });
    }
}

/// Shared memory of the fix-up: one partial sum per warp, the list of long runs, and their number.
pub(crate) const fn fixup_bytes<V: Arithmetic>(block: usize) -> usize {
    block / thread::WARP_SIZE as usize * V::SIZE + block * 4 + 4
}

/// Runs of carries up to this length are summed by one thread, longer ones by the block.
const SHORT_RUN: u32 = 16;

/// Carries in the order of their rows: those of a row are a run.
#[derive(Clone, Copy)]
pub(crate) struct CarryRuns<V> {
    pub(crate) carry_rows: Global<u32>,
    pub(crate) carries: Global<V>,
    pub(crate) count: u32,
}

impl<V: Arithmetic> CarryRuns<V> {
    /// Calls `add` with the row and the sum of each run of the block's carries, in one thread.
    #[device]
    pub(crate) fn each_sum<const BLOCK: usize>(self, arena: Arena, add: impl Fn(u32, V)) {
        self.each_sum_from::<BLOCK>(arena, thread::global_index::<BLOCK>() as u32, add);
    }

    /// [`each_sum`](Self::each_sum) of a block whose threads have carries of their own numbers: `first` is this thread's.
    #[device]
    pub(crate) fn each_sum_from<const BLOCK: usize>(
        self,
        mut arena: Arena,
        first: u32,
        add: impl Fn(u32, V),
    ) {
        let reduce = BlockReduce::<V, BLOCK>::take(&mut arena);
        let long_runs: Shared<u32> = arena.take(BLOCK);
        let long_count: Shared<u32> = arena.take(1);
        if thread::index() == 0 {
            long_count.store(0, 0);
        }
        thread::barrier();

        // 1. Each thread whose carry is a row's first sums a short run, or lists a long one.
        if first < self.count {
            let row = self.carry_rows.load(first as usize);
            if first == 0 || self.carry_rows.load(first as usize - 1) != row {
                let end_of_short =
                    if self.count - first > SHORT_RUN { first + SHORT_RUN } else { self.count };
                let is_long = end_of_short < self.count && self.carry_rows.load(end_of_short as usize) == row;
                if is_long {
                    long_runs.store(long_count.fetch_add(0, 1) as usize, first);
                } else {
                    let mut sum = self.carries.load(first as usize);
                    let mut index = first + 1;
                    while index < end_of_short && self.carry_rows.load(index as usize) == row {
                        sum += self.carries.load(index as usize);
                        index += 1;
                    }
                    add(row, sum);
                }
            }
        }
        thread::barrier();

        // 2. The block sums the long runs, one after the other.
        let runs = long_count.load(0) as usize;
        let mut run = 0;
        while run < runs {
            let first = long_runs.load(run) as usize;
            let row = self.carry_rows.load(first);
            let sum = self.sum_run(first, row, reduce);
            if thread::index() == 0 {
                add(row, sum);
            }
            run += 1;
        }
    }

    /// Returns the sum of the carries of `row`, which begin at `first`, by the whole block, in an order that depends
    /// only on their number.
    #[device]
    fn sum_run<const BLOCK: usize>(self, first: usize, row: u32, reduce: BlockReduce<V, BLOCK>) -> V {
        let mut sum = V::ZERO;
        let mut index = first + thread::index() as usize;
        while index < self.count as usize && self.carry_rows.load(index) == row {
            sum += self.carries.load(index);
            index += BLOCK;
        }
        let total = reduce.sum(sum);
        // The next run uses the same shared memory.
        thread::barrier();
        total
    }
}
