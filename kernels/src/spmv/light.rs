//! SpMV with rows handed out while the kernel runs (Liu, Schmidt, "LightSpMV: Faster CSR-based Sparse Matrix-Vector
//! Multiplication on CUDA-enabled GPUs", ASAP 2015; the distribution at warp level, section IV).
//!
//! The grid has one wave of blocks, which stay until there are no rows left. A warp is cut into vectors of `lanes`
//! lanes; its first lane draws rows for all of them from one counter in global memory, and they draw again together. So
//! a warp that gets short rows gets more of them, and all lanes that a shuffle names take part in it: vectors that drew
//! for themselves would be in different turns of the loop when the others shuffle.
//!
//! A warp of the source takes one row for each vector. The counter serializes draws, some 1.3 · 10⁹ per second on an
//! H200; so here a draw is of several `turns`.
//!
//! Timing determines which warp gets a row, but not how it sums the row, so results are the same from run to run.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, warp, Arena, Arithmetic, GlobalMut};

use super::product::SpmvArguments;
use crate::Offset;

kernel! {
    /// Multiplies rows by x: `lanes` lanes per row, rows drawn from a counter. The grid may have any size.
    pub struct LightRows<V: Arithmetic, O: Offset> {
        /// The matrix and the vectors.
        pub product: SpmvArguments<V, O>,
        /// One word, the next row to hand out: zero before the launch.
        pub next_row: GlobalMut<u64>,
        /// Threads per row: a power of two up to 32.
        pub lanes: u32,
        /// Rows that each vector gets from a draw.
        pub turns: u32,
    }
    shared: 0;
    body: LightRows::light_rows;
    entries: {
        spmv_light_rows_{V}_{O} in spmv_light: V in [f32, f64], O in [u32, u64], 256 x 1;
        spmv_light_rows_{V}_u32_{B} in spmv_block_sizes: V in [f32, f64], O = u32, B in [128, 512, 1024], B x 1;
    }
}

impl<V: Arithmetic, O: Offset> LightRows<V, O> {
    #[device]
    fn light_rows(self, _: Arena) {
        let Self { product, .. } = self;
        let rows = product.matrix.rows as usize;
        let log = self.lanes.trailing_zeros();
        let vectors = thread::WARP_SIZE >> log;
        let (vector, lane) = ((thread::lane() >> log) as usize, thread::lane() & (self.lanes - 1));
        let count = vectors as usize * self.turns as usize;
        loop {
            let mut first = draw(self.next_row, count as u64);
            if first >= rows {
                break;
            }
            let last = (first + count).min(rows);
            while first < last {
                let row = first + vector;
                let (begin, end) = product.bounds(row, rows);
                let sum = product.strided_sum(begin, end, lane, self.lanes);
                let sum = warp::reduce_groups(sum, self.lanes, |a, b| a + b);
                if lane == 0 && row < rows {
                    product.update.store(row, sum);
                }
                first += vectors as usize;
            }
        }
    }
}

/// Returns the first of `count` rows that are the warp's from now on.
#[device(track_caller)]
fn draw(next_row: GlobalMut<u64>, count: u64) -> usize {
    let mut first = 0;
    if thread::lane() == 0 {
        first = next_row.fetch_add(0, count, Ordering::Relaxed, Scope::Device);
    }
    warp::shuffle(warp::FULL, first, 0) as usize
}
