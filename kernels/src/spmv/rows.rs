//! SpMV by rows: a fixed number of threads per row, whatever its length.
//!
//! One thread is the scalar CSR kernel, 2 to 32 lanes of a warp the vector kernel (Bell, Garland, "Implementing Sparse
//! Matrix-Vector Multiplication on Throughput-Oriented Processors", SC 2009, sections 4.2 and 4.3, there 32; others in
//! Dalton, Baxter, Merrill, Olson, Garland, "Optimizing Sparse Matrix Operations on GPUs using Merge Path", IPDPS 2015,
//! section III-A). Both are [`VectorRows`]; [`BlockRows`] gives a row to a whole block.

use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Arithmetic};

use super::product::SpmvArguments;
use crate::block::reduce::BlockReduce;
use crate::Offset;

kernel! {
    /// Multiplies rows by x: `lanes` consecutive threads per row. The study of row sorting compares blocks of several sizes.
    pub struct VectorRows<V: Arithmetic, O: Offset> {
        /// The matrix and the vectors.
        pub product: SpmvArguments<V, O>,
        /// Threads per row: a power of two up to 32.
        pub lanes: u32,
    }
    shared: 0;
    body: VectorRows::vector_rows::<BLOCK>;
    entries: {
        spmv_vector_rows_{V}_{O} in spmv_rows_{V}: V in [f32, f64], O in [u32, u64], 256 x 1;
        spmv_vector_rows_{V}_{O} in spmv_rows_{V}: V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 256 x 1;
        spmv_vector_rows_{V}_{O} in spmv_rows_block_sizes:
            (V, B) in [(f32 as f32_32, 32), (f32 as f32_64, 64), (f32 as f32_128, 128), (f32 as f32_512, 512)],
            O = u32, B x 1;
    }
}

impl<V: Arithmetic, O: Offset> VectorRows<V, O> {
    #[device]
    fn vector_rows<const BLOCK: usize>(self, _: Arena) {
        let Self { product, .. } = self;
        let rows = product.matrix.rows as usize;
        let log = self.lanes.trailing_zeros();
        let row = thread::block() as usize * (BLOCK >> log) + (thread::index() >> log) as usize;
        let lane = thread::index() & (self.lanes - 1);
        let (begin, end) = product.bounds(row, rows);
        let sum = product.strided_sum(begin, end, lane, self.lanes);
        let sum = warp::reduce_groups(sum, self.lanes, |a, b| a + b);
        if lane == 0 && row < rows {
            product.update.store(row, sum);
        }
    }
}

kernel! {
    /// Multiplies rows by x: block b takes rows b, b + grid, b + 2 × grid, …
    pub struct BlockRows<V: Arithmetic, O: Offset> {
        /// The matrix and the vectors.
        pub product: SpmvArguments<V, O>,
    }
    shared: BlockReduce::<V, BLOCK>::BYTES;
    body: BlockRows::block_rows::<BLOCK>;
    entries: {
        spmv_block_rows_{V}_{O} in spmv_rows_{V}: V in [f32, f64], O in [u32, u64], 256 x 1;
        spmv_block_rows_{V}_{O} in spmv_rows_{V}: V in [Complex<f32> as c32, Complex<f64> as c64], O in [u32, u64], 256 x 1;
    }
}

impl<V: Arithmetic, O: Offset> BlockRows<V, O> {
    #[device]
    fn block_rows<const BLOCK: usize>(self, mut arena: Arena) {
        let Self { product, .. } = self;
        let rows = product.matrix.rows as usize;
        let reduce = BlockReduce::take(&mut arena);
        let mut row = thread::block() as usize;
        while row < rows {
            let (begin, end) = product.bounds(row, rows);
            let sum = product.block_sum::<BLOCK>(begin, end, reduce);
            if thread::index() == 0 {
                product.update.store(row, sum);
            }
            row += thread::grid_size() as usize;
            // The next row uses the same shared memory.
            thread::barrier();
        }
    }
}
