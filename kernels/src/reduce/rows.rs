//! Reduction by CSR rows: each row sets the bit of its first element, and the rows with elements are numbered; then
//! their sums are those of the segments. Rows without elements take part in the first step only, so work is even with
//! any number of them.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, Arena, Global, GlobalMut};

use super::reduce_tile::{reduce_tile, ReduceArguments, SegmentOutput};
use crate::block::filled_rows::{number_filled_rows, numbering_bytes};
use crate::block::operator::{Min, Number, Operator, Sum};
use crate::scan::{shared_bytes, BitMarks};
use crate::Offset;

kernel! {
    /// Sets the bit of each element that begins a row, and lists the rows that have elements: one thread per row, blocks
    /// in the order in which they start.
    pub struct MarkRows<O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Output: one bit per element, 32 per word, the lowest first; all zero before.
        pub bits: GlobalMut<u32>,
        /// Output: the rows that have elements, in order; `rows` at most.
        pub filled_rows: GlobalMut<u32>,
        /// A ticket and one word per block, all zero before.
        pub states: GlobalMut<u64>,
        /// Rows.
        pub rows: u32,
    }
    shared: numbering_bytes::<BLOCK>();
    body: MarkRows::mark_rows::<BLOCK>;
    entry: reduce_mark_rows_{O} in reduce_rows: O in [u32, u64], 256 x 1;
}

impl<O: Offset> MarkRows<O> {
    #[device]
    fn mark_rows<const BLOCK: usize>(self, arena: Arena) {
        let mark = |begin: usize| {
            // No other row with elements begins there: adding sets the bit.
            self.bits.fetch_add(begin / 32, 1 << (begin % 32), Ordering::Relaxed, Scope::Device);
        };
        let numbered = number_filled_rows::<O, BLOCK>(arena, self.row_offsets, self.states, self.rows, mark);
        if numbered.is_filled {
            self.filled_rows.store(numbered.before, numbered.row as u32);
        }
    }
}

kernel! {
    /// Sets the result of rows that have no elements: one thread per row.
    pub struct FillEmptyRows<V: Number, O: Offset> {
        /// Row offsets, `rows` + 1.
        pub row_offsets: Global<O>,
        /// Output: the rows' results; only those without elements are written.
        pub sums: GlobalMut<V>,
        /// Rows.
        pub rows: u32,
        /// Element that is written.
        pub identity: V,
    }
    shared: 0;
    body: FillEmptyRows::fill_empty_rows::<BLOCK>;
    entry: reduce_fill_{V}_{O} in reduce_rows: V in [u32, i32, u64, f32, f64], O in [u32, u64], 256 x 1;
}

impl<V: Number, O: Offset> FillEmptyRows<V, O> {
    #[device]
    fn fill_empty_rows<const BLOCK: usize>(self, _: Arena) {
        let row = thread::global_index::<BLOCK>();
        if row < self.rows as usize
            && self.row_offsets.load(row).to_usize() == self.row_offsets.load(row + 1).to_usize()
        {
            self.sums.store(row, self.identity);
        }
    }
}

kernel! {
    /// Reduces the values of each row that has any: one block per tile, tiles in the order in which blocks start. Its
    /// variants are the operators.
    pub struct ReduceRows<V: Number> {
        /// Parameters of the reduction.
        pub reduction: ReduceArguments<V>,
        /// One bit per value, set where a row begins, from [`MarkRows`].
        pub bits: Global<u32>,
        /// The rows that have values, from [`MarkRows`].
        pub filled_rows: Global<u32>,
        /// Output: the sum of each row that has values.
        pub sums: GlobalMut<V>,
    }
    shared: 0;
    body: ReduceRows::reduce_rows::<P, BLOCK, ITEMS>;
    entry: reduce_{P}_{V}_by_row in reduce_{P}_{V}:
        P in [Sum as sum, Min as min], (V, N) in [(u32, 28), (i32, 28), (u64, 14), (f32, 28), (f64, 14)], 256 x N;
}

/// Sums at the places of their rows.
struct RowSums<V> {
    filled_rows: Global<u32>,
    sums: GlobalMut<V>,
}

impl<V: Number> SegmentOutput<V> for RowSums<V> {
    #[device(track_caller)]
    fn store_sum(&self, segment: usize, sum: V) {
        self.sums.store(self.filled_rows.load(segment) as usize, sum);
    }
}

impl<V: Number> ReduceRows<V> {
    #[device]
    fn reduce_rows<P: Operator<V>, const BLOCK: usize, const ITEMS: usize>(self, _: Arena) {
        let mut arena = Arena::dynamic(shared_bytes(V::SIZE, 0, BLOCK, ITEMS));
        let mut marks = BitMarks::<ITEMS>::new(self.bits);
        reduce_tile::<V, P, _, BLOCK, ITEMS>(
            &mut arena,
            &mut marks,
            &mut RowSums { filled_rows: self.filled_rows, sums: self.sums },
            self.reduction,
        );
    }
}
