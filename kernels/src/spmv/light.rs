//! SpMV with rows handed out while the kernel runs (Liu, Schmidt, "LightSpMV: Faster CSR-based Sparse Matrix-Vector
//! Multiplication on CUDA-enabled GPUs", ASAP 2015; the distribution at warp level, section IV).
//!
//! As many blocks as the GPU holds at once stay until there are no rows left. A warp is cut into vectors of `lanes`
//! lanes; its first lane takes rows for all of them from one counter in global memory, and all of them come back for
//! more together. So whoever is given short rows is given more of them, and the lanes that a shuffle names are always
//! there: vectors that drew for themselves would be in different turns of the loop when the others shuffle.
//!
//! In the source a warp takes one row for each vector. The counter does one draw after another, of which an H200 does
//! some 1.3 · 10⁹ a second; so here a draw is of several `turns`.
//!
//! Which warp gets a row depends on timing; how it sums it does not, so results are the same from run to run.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{kernel, thread, warp, Arena, Float, Global, GlobalMut};

use super::row::Operands;
use crate::update::update;
use crate::Offset;

kernel! {
    /// Multiplies rows by x: `lanes` lanes a row, rows drawn from a counter. Any number of blocks does.
    pub struct LightRows<V: Float, O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Column indices, one a nonzero.
        pub column_indices: Global<u32>,
        /// Values, one a nonzero.
        pub values: Global<V>,
        /// The dense vector, one element a column.
        pub x: Global<V>,
        /// The result, one element a row; read only where `beta` is not zero.
        pub y: GlobalMut<V>,
        /// One word, the next row to hand out: zero before the launch.
        pub next_row: GlobalMut<u64>,
        /// Rows of the matrix.
        pub rows: u32,
        /// Threads a row: a power of two up to 32.
        pub lanes: u32,
        /// Rows that each vector is given by a draw.
        pub turns: u32,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
    shared: 0;
    body: LightRows::light_rows;
    entries: {
        spmv_light_rows_f32_u32 in spmv_light: <V = f32, O = u32>, 256 x 1;
        spmv_light_rows_f32_u64 in spmv_light: <V = f32, O = u64>, 256 x 1;
        spmv_light_rows_f64_u32 in spmv_light: <V = f64, O = u32>, 256 x 1;
        spmv_light_rows_f64_u64 in spmv_light: <V = f64, O = u64>, 256 x 1;
    }
}

impl<V: Float, O: Offset> LightRows<V, O> {
    #[inline(always)]
    fn light_rows(self, _: Arena) {
        let Self { rows, .. } = self;
        let operands = Operands {
            row_offsets: self.row_offsets,
            column_indices: self.column_indices,
            values: self.values,
            x: self.x,
        };
        let rows = rows as usize;
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
                let (begin, end) = operands.bounds(row, rows);
                let sum = operands.strided_sum(begin, end, lane, self.lanes);
                let sum = warp::reduce_groups(sum, self.lanes, |a, b| a + b);
                if lane == 0 && row < rows {
                    update(self.y, row, self.alpha, sum, self.beta);
                }
                first += vectors as usize;
            }
        }
    }
}

/// The first of `count` rows that are the warp's from now on.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
fn draw(next_row: GlobalMut<u64>, count: u64) -> usize {
    let mut first = 0;
    if thread::lane() == 0 {
        first = next_row.fetch_add(0, count, Ordering::Relaxed, Scope::Device);
    }
    warp::shuffle(warp::FULL, first, 0) as usize
}
