//! SpMV by rows: so many threads for each, whatever its length.
//!
//! One thread is the scalar CSR kernel, 2 to 32 lanes of a warp the vector kernel (Bell, Garland, "Implementing Sparse
//! Matrix-Vector Multiplication on Throughput-Oriented Processors", SC 2009, sections 4.2 and 4.3, there 32; others in
//! Dalton, Baxter, Merrill, Olson, Garland, "Optimizing Sparse Matrix Operations on GPUs using Merge Path", IPDPS 2015,
//! section III-A). Both are [`VectorRows`]; [`BlockRows`] gives a row to a whole block.

use evenpath_simt::{kernel, thread, warp, Arena, Float, Global, GlobalMut};

use super::row::Operands;
use crate::block::reduce::BlockReduce;
use crate::update::update;
use crate::Offset;

kernel! {
    /// Multiplies rows by x: `lanes` threads a row, neighbours in their warp.
    pub struct VectorRows<V: Float, O: Offset> {
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
        /// Rows of the matrix.
        pub rows: u32,
        /// Threads a row: a power of two up to 32.
        pub lanes: u32,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
    shared: 0;
    body: VectorRows::vector_rows::<BLOCK>;
    entries: {
        spmv_vector_rows_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, 256 x 1;
        spmv_vector_rows_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, 256 x 1;
        spmv_vector_rows_f64_u32 in spmv_rows_f64: <V = f64, O = u32>, 256 x 1;
        spmv_vector_rows_f64_u64 in spmv_rows_f64: <V = f64, O = u64>, 256 x 1;
    }
}

impl<V: Float, O: Offset> VectorRows<V, O> {
    #[inline(always)]
    fn vector_rows<const BLOCK: usize>(self, _: Arena) {
        let operands = Operands {
            row_offsets: self.row_offsets,
            column_indices: self.column_indices,
            values: self.values,
            x: self.x,
        };
        let log = self.lanes.trailing_zeros();
        let row = thread::block() as usize * (BLOCK >> log) + (thread::index() >> log) as usize;
        let lane = thread::index() & (self.lanes - 1);
        let (begin, end) = operands.bounds(row, self.rows as usize);
        let sum = operands.strided_sum(begin, end, lane, self.lanes);
        let sum = warp::reduce_groups(sum, self.lanes, |a, b| a + b);
        if lane == 0 && row < self.rows as usize {
            update(self.y, row, self.alpha, sum, self.beta);
        }
    }
}

kernel! {
    /// Multiplies rows by x: a block a row, and after it the row as many further as the grid has blocks.
    pub struct BlockRows<V: Float, O: Offset> {
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
        /// Rows of the matrix.
        pub rows: u32,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
    shared: BlockReduce::<V, BLOCK>::BYTES;
    body: BlockRows::block_rows::<BLOCK>;
    entries: {
        spmv_block_rows_f32_u32 in spmv_rows_f32: <V = f32, O = u32>, 256 x 1;
        spmv_block_rows_f32_u64 in spmv_rows_f32: <V = f32, O = u64>, 256 x 1;
        spmv_block_rows_f64_u32 in spmv_rows_f64: <V = f64, O = u32>, 256 x 1;
        spmv_block_rows_f64_u64 in spmv_rows_f64: <V = f64, O = u64>, 256 x 1;
    }
}

impl<V: Float, O: Offset> BlockRows<V, O> {
    #[inline(always)]
    fn block_rows<const BLOCK: usize>(self, mut arena: Arena) {
        let operands = Operands {
            row_offsets: self.row_offsets,
            column_indices: self.column_indices,
            values: self.values,
            x: self.x,
        };
        let reduce = BlockReduce::take(&mut arena);
        let mut row = thread::block() as usize;
        while row < self.rows as usize {
            let (begin, end) = operands.bounds(row, self.rows as usize);
            let sum = operands.block_sum::<BLOCK>(begin, end, reduce);
            if thread::index() == 0 {
                update(self.y, row, self.alpha, sum, self.beta);
            }
            row += thread::grid_size() as usize;
            // The next row writes the partials again.
            thread::barrier();
        }
    }
}
