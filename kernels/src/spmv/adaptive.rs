//! SpMV by row blocks: CSR-Adaptive (Greathouse, Daga, "Efficient Sparse Matrix-Vector Multiplication on GPUs Using the
//! CSR Storage Format", SC 2014, sections IV and V).
//!
//! The host cuts the rows into row blocks, consecutive rows whose nonzeros fit into shared memory together; a row that
//! does not fit is a row block of its own. A block of threads takes a row block, and how depends on its rows alone
//! ([`RowBlockKind`]).
// Iterators over two arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

use evenpath_simt::{kernel, thread, warp, Arena, Float, Global, GlobalMut, Shared};

use super::row::Operands;
use crate::block::reduce::BlockReduce;
use crate::block::search::partition_point;
use crate::update::update;
use crate::Offset;

/// How a row block is multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowBlockKind {
    /// CSR-Stream: the products are brought to shared memory, neighbours together, whichever rows they belong to;
    /// then each row is summed there, by as many lanes as there are for it.
    Stream,
    /// CSR-Vector: no more rows than warps, a warp for each.
    Vector,
    /// CSR-VectorL: one row of any length, by the whole block.
    LongVector,
}

impl RowBlockKind {
    /// The kind of a row block of so many rows, for a block of `threads` threads.
    #[inline(always)]
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
    /// Cuts rows into row blocks of at most `share` + the longest row − 1 nonzeros, without the host: one thread a row
    /// block, which begins with the first row that begins at a multiple of `share` or behind it.
    pub struct CutRowBlocks<O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Output: the first row of each row block, and the number of rows; `blocks` + 1.
        pub block_rows: GlobalMut<u32>,
        /// Rows of the matrix.
        pub rows: u32,
        /// Row blocks.
        pub blocks: u32,
        /// Nonzeros between the beginnings of row blocks.
        pub share: u32,
    }
    shared: 0;
    body: CutRowBlocks::cut_row_blocks;
    entries: {
        spmv_cut_row_blocks_u32 in spmv_plan: <O = u32>, 256 x 1;
        spmv_cut_row_blocks_u64 in spmv_plan: <O = u64>, 256 x 1;
    }
}

impl<O: Offset> CutRowBlocks<O> {
    #[inline(always)]
    fn cut_row_blocks(self, _: Arena) {
        let block = u64::from(thread::block()) * u64::from(thread::block_size()) + u64::from(thread::index());
        if block > u64::from(self.blocks) {
            return;
        }
        let start = block * u64::from(self.share);
        let first = partition_point(0, self.rows, |row| {
            (self.row_offsets.load(row as usize).to_usize() as u64) < start
        });
        self.block_rows
            .store(block as usize, if block == u64::from(self.blocks) { self.rows } else { first });
    }
}

kernel! {
    /// Multiplies row blocks by x: a block of threads each. A row block of more than one row has at most
    /// threads × items nonzeros.
    pub struct AdaptiveRows<V: Float, O: Offset> {
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
        /// First row of each row block, and the number of rows; one more than blocks.
        pub block_rows: Global<u32>,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
    shared: stream_bytes::<V>(BLOCK * ITEMS);
    body: AdaptiveRows::adaptive_rows::<BLOCK, ITEMS>;
    entries: {
        spmv_adaptive_rows_f32_u32 in spmv_adaptive: <V = f32, O = u32>, 128 x 8;
        spmv_adaptive_rows_f32_u64 in spmv_adaptive: <V = f32, O = u64>, 128 x 8;
        spmv_adaptive_rows_f64_u32 in spmv_adaptive: <V = f64, O = u32>, 128 x 12 resident 8;
        spmv_adaptive_rows_f64_u64 in spmv_adaptive: <V = f64, O = u64>, 128 x 12 resident 8;
    }
}

/// Shared memory of a row block: its products, or, where there is one row, partial sums, which take less.
const fn stream_bytes<V: Float>(products: usize) -> usize {
    products * V::SIZE
}

/// Rows `first` to before `end`, and where their results go.
struct RowBlock<V, O, const BLOCK: usize, const ITEMS: usize> {
    operands: Operands<V, O>,
    first: usize,
    end: usize,
    y: GlobalMut<V>,
    alpha: V,
    beta: V,
}

impl<V: Float, O: Offset, const BLOCK: usize, const ITEMS: usize> RowBlock<V, O, BLOCK, ITEMS> {
    #[inline(always)]
    fn store(&self, row: usize, sum: V) {
        update(self.y, row, self.alpha, sum, self.beta);
    }

    #[inline(always)]
    fn stream(&self, arena: &mut Arena) {
        let products: Shared<V> = arena.take(BLOCK * ITEMS);
        let rows = (self.end - self.first) as u32;
        // The largest power of two that leaves lanes for every row, if there are as many.
        let log = (BLOCK as u32 / rows).checked_ilog2().unwrap_or(0);
        let lanes = 1 << log;
        let (vector, lane) = ((thread::index() >> log) as usize, thread::index() & (lanes - 1));
        let start = self.operands.row_offsets.load(self.first).to_usize();
        let nonzeros = (self.operands.row_offsets.load(self.end).to_usize() - start) as u32;
        let mut row = self.first + vector;
        let mut bounds = self.local_bounds(row, start);
        self.bring_products(start, nonzeros, products);
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

    /// Where a row's products are, of which the first nonzero is `start`; nowhere behind the last row.
    #[inline(always)]
    fn local_bounds(&self, row: usize, start: usize) -> (u32, u32) {
        if row >= self.end {
            return (0, 0);
        }
        let (begin, end) = self.operands.bounds(row, self.end);
        ((begin - start) as u32, (end - start) as u32)
    }

    /// Every load of an array is on its way before the first is used; those behind the end repeat the last nonzero.
    #[inline(always)]
    fn bring_products(&self, start: usize, nonzeros: u32, products: Shared<V>) {
        if nonzeros == 0 {
            return;
        }
        let place = |item: usize| thread::index() + (item * BLOCK) as u32;
        let inside = |item: usize| place(item).min(nonzeros - 1) as usize;
        let column_indices = self.operands.column_indices.skip(start);
        let values = self.operands.values.skip(start);
        let mut columns = [0; ITEMS];
        let mut own = [V::ZERO; ITEMS];
        for item in 0..ITEMS {
            columns[item] = column_indices.load_streaming(inside(item)) as usize;
        }
        for item in 0..ITEMS {
            own[item] = values.load_streaming(inside(item));
        }
        for item in 0..ITEMS {
            own[item] = own[item] * self.operands.x.load(columns[item]);
        }
        for item in 0..ITEMS {
            if place(item) < nonzeros {
                products.store(place(item) as usize, own[item]);
            }
        }
    }

    #[inline(always)]
    fn vector(&self) {
        let row = self.first + thread::warp() as usize;
        let (begin, end) = self.operands.bounds(row, self.end);
        let sum = self.operands.strided_sum(begin, end, thread::lane(), thread::WARP_SIZE);
        let sum = warp::reduce_add(sum);
        if thread::lane() == 0 && row < self.end {
            self.store(row, sum);
        }
    }

    #[inline(always)]
    fn long_vector(&self, arena: &mut Arena) {
        let reduce = BlockReduce::take(arena);
        let (begin, end) = self.operands.bounds(self.first, self.end);
        let sum = self.operands.block_sum::<BLOCK>(begin, end, reduce);
        if thread::index() == 0 {
            self.store(self.first, sum);
        }
    }
}

impl<V: Float, O: Offset> AdaptiveRows<V, O> {
    #[inline(always)]
    fn adaptive_rows<const BLOCK: usize, const ITEMS: usize>(self, mut arena: Arena) {
        let block = thread::block() as usize;
        let (first, end) = (self.block_rows.load(block), self.block_rows.load(block + 1));
        let operands = Operands {
            row_offsets: self.row_offsets,
            column_indices: self.column_indices,
            values: self.values,
            x: self.x,
        };
        let (first_row, end_row) = (first as usize, end as usize);
        let row_block = RowBlock::<V, O, BLOCK, ITEMS> {
            operands,
            first: first_row,
            end: end_row,
            y: self.y,
            alpha: self.alpha,
            beta: self.beta,
        };
        match RowBlockKind::of(end - first, BLOCK as u32) {
            RowBlockKind::Stream => row_block.stream(&mut arena),
            RowBlockKind::Vector => row_block.vector(),
            RowBlockKind::LongVector => row_block.long_vector(&mut arena),
        }
    }
}
