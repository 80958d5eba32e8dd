//! SpMV by row blocks: CSR-Adaptive (Greathouse, Daga, "Efficient Sparse Matrix-Vector Multiplication on GPUs Using the
//! CSR Storage Format", SC 2014, sections IV and V).
//!
//! The rows are cut into row blocks, consecutive rows whose nonzeros fit into shared memory together; a row that
//! does not fit is a row block of its own. A block of threads takes a row block, by a method that depends on its rows
//! alone ([`RowBlockKind`]).
use evenpath_simt::num_complex::Complex;
use evenpath_simt::{device, kernel, thread, warp, Arena, Arithmetic, Global, Shared};

use super::product::SpmvArguments;
use crate::block::reduce::BlockReduce;
use crate::block::strided::{self, load_repeating};
use crate::Offset;

/// Method that multiplies a row block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowBlockKind {
    /// CSR-Stream: products are written to shared memory, with coalesced loads in the order of nonzeros; then lanes sum
    /// the rows there.
    Stream,
    /// CSR-Vector: no more rows than warps, one warp per row.
    Vector,
    /// CSR-VectorL: one row of any length, by the whole block.
    LongVector,
}

impl RowBlockKind {
    /// Returns the kind of a row block of `rows` rows, for a block of `threads` threads.
    #[device]
    pub const fn of(rows: u32, threads: u32) -> Self {
        if rows == 1 {
            Self::LongVector
        } else if rows <= threads / thread::WARP_SIZE {
            Self::Vector
        } else {
            Self::Stream
        }
    }
}

kernel! {
    /// Multiplies row blocks by x: a block of threads each. A row block of more than one row has at most threads ×
    /// items nonzeros. The instances with one item per thread are for the study of CSR-Adaptive and LightSpMV, which
    /// compares block sizes.
    pub struct AdaptiveRows<V: Arithmetic, O: Offset> {
        /// The matrix and the vectors.
        pub product: SpmvArguments<V, O>,
        /// First row of each row block, and the number of rows; one more than blocks.
        pub block_rows: Global<u32>,
    }
    shared: stream_bytes::<V>(BLOCK * ITEMS);
    body: AdaptiveRows::adaptive_rows::<BLOCK, ITEMS>;
    entries: {
        spmv_adaptive_rows_{V}_{O} in spmv_adaptive: (V, N, R) in [(f32, 8, 0), (f64, 12, 8)], O in [u32, u64], 128 x N resident R;
        spmv_adaptive_rows_{V}_{O} in spmv_adaptive_{V}:
            (V, N, R) in [(Complex<f32> as c32, 8, 8), (Complex<f64> as c64, 6, 6)], O in [u32, u64], 128 x N resident R;
        spmv_adaptive_rows_{V}_u32_{B} in spmv_block_sizes: V in [f32, f64], O = u32, B in [128, 256, 512, 1024], B x 1;
    }
}

/// Shared memory of a row block: its products, or, where there is one row, partial sums, which take less.
const fn stream_bytes<V: Arithmetic>(products: usize) -> usize {
    products * V::SIZE
}

/// Rows `first` to before `end`.
struct AdaptiveBlock<V: Arithmetic, O: Offset, const BLOCK: usize, const ITEMS: usize> {
    product: SpmvArguments<V, O>,
    first: usize,
    end: usize,
}

impl<V: Arithmetic, O: Offset, const BLOCK: usize, const ITEMS: usize> AdaptiveBlock<V, O, BLOCK, ITEMS> {
    #[device]
    fn store(&self, row: usize, sum: V) {
        self.product.update.store(row, sum);
    }

    #[device]
    fn stream(&self, arena: &mut Arena) {
        let products: Shared<V> = arena.take(BLOCK * ITEMS);
        let rows = (self.end - self.first) as u32;
        // The largest power of two that leaves lanes for every row, if there are as many.
        let log = (BLOCK as u32 / rows).checked_ilog2().unwrap_or(0);
        let lanes = 1 << log;
        let (vector, lane) = ((thread::index() >> log) as usize, thread::index() & (lanes - 1));
        let start = self.product.matrix.row_offsets.load(self.first).to_usize();
        let nonzeros = (self.product.matrix.row_offsets.load(self.end).to_usize() - start) as u32;
        let mut row = self.first + vector;
        let mut bounds = self.local_bounds(row, start);
        self.store_products(start, nonzeros, products);
        thread::barrier();
        let turns = rows.div_ceil(BLOCK as u32 >> log);
        for _ in 0..turns {
            let mut sum = V::ZERO;
            let (mut place, end) = (bounds.0 + lane, bounds.1);
            while place < end {
                sum += products.load(place as usize);
                place += lanes;
            }
            let sum = warp::reduce_groups(sum, lanes, |a, b| a + b);
            if lane == 0 && row < self.end {
                self.store(row, sum);
            }
            row += BLOCK >> log;
            bounds = self.local_bounds(row, start);
        }
    }

    /// Returns the range of a row's products, counted from the nonzero `start`; empty after the last row.
    #[device]
    fn local_bounds(&self, row: usize, start: usize) -> (u32, u32) {
        if row >= self.end {
            return (0, 0);
        }
        let (begin, end) = self.product.bounds(row, self.end);
        ((begin - start) as u32, (end - start) as u32)
    }

    /// Writes the products to shared memory. All loads of an array are issued before the first is used; those past the
    /// end repeat the last nonzero.
    #[device]
    fn store_products(&self, start: usize, nonzeros: u32, products: Shared<V>) {
        if nonzeros == 0 {
            return;
        }
        let SpmvArguments { matrix, x, .. } = self.product;
        let columns = load_repeating::<u32, BLOCK, ITEMS>(matrix.column_indices.skip(start), nonzeros);
        let mut own = load_repeating::<V, BLOCK, ITEMS>(matrix.values.skip(start), nonzeros);
        for item in 0..ITEMS {
            own[item] = own[item] * x.load(columns[item] as usize);
        }
        for item in 0..ITEMS {
            let place = strided::place::<BLOCK>(item);
            if place < nonzeros {
                products.store(place as usize, own[item]);
            }
        }
    }

    #[device]
    fn vector(&self) {
        let row = self.first + thread::warp() as usize;
        let (begin, end) = self.product.bounds(row, self.end);
        let sum = self.product.strided_sum(begin, end, thread::lane(), thread::WARP_SIZE);
        let sum = warp::reduce_add(sum);
        if thread::lane() == 0 && row < self.end {
            self.store(row, sum);
        }
    }

    #[device]
    fn long_vector(&self, arena: &mut Arena) {
        let reduce = BlockReduce::take(arena);
        let (begin, end) = self.product.bounds(self.first, self.end);
        let sum = self.product.block_sum::<BLOCK>(begin, end, reduce);
        if thread::index() == 0 {
            self.store(self.first, sum);
        }
    }
}

impl<V: Arithmetic, O: Offset> AdaptiveRows<V, O> {
    #[device]
    fn adaptive_rows<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let block = thread::block() as usize;
        let (first, end) = (self.block_rows.load(block), self.block_rows.load(block + 1));
        let row_block = AdaptiveBlock::<V, O, BLOCK, ITEMS> {
            product: self.product,
            first: first as usize,
            end: end as usize,
        };
        match RowBlockKind::of(end - first, BLOCK as u32) {
            RowBlockKind::Stream => row_block.stream(&mut arena),
            RowBlockKind::Vector => row_block.vector(),
            RowBlockKind::LongVector => row_block.long_vector(&mut arena),
        }
    }
}
