//! Reduction by CSR rows: where rows begin becomes one bit per element, and the rows with elements are numbered; then
//! their sums are those of the segments. Rows without elements take part in the first step only, so work is even
//! however many there are.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, kernel, thread, Arena, Global, GlobalMut};

use super::reduce_tile::{reduce_tile, Output, ReduceArguments};
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
    entries: {
        reduce_mark_rows_u32 in reduce_rows: <O = u32>, 256 x 1;
        reduce_mark_rows_u64 in reduce_rows: <O = u64>, 256 x 1;
    }
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
        /// What is written.
        pub identity: V,
    }
    shared: 0;
    body: FillEmptyRows::fill_empty_rows::<BLOCK>;
    entries: {
        reduce_fill_u32_u32 in reduce_rows: <V = u32, O = u32>, 256 x 1;
        reduce_fill_u32_u64 in reduce_rows: <V = u32, O = u64>, 256 x 1;
        reduce_fill_i32_u32 in reduce_rows: <V = i32, O = u32>, 256 x 1;
        reduce_fill_i32_u64 in reduce_rows: <V = i32, O = u64>, 256 x 1;
        reduce_fill_u64_u32 in reduce_rows: <V = u64, O = u32>, 256 x 1;
        reduce_fill_u64_u64 in reduce_rows: <V = u64, O = u64>, 256 x 1;
        reduce_fill_f32_u32 in reduce_rows: <V = f32, O = u32>, 256 x 1;
        reduce_fill_f32_u64 in reduce_rows: <V = f32, O = u64>, 256 x 1;
        reduce_fill_f64_u32 in reduce_rows: <V = f64, O = u32>, 256 x 1;
        reduce_fill_f64_u64 in reduce_rows: <V = f64, O = u64>, 256 x 1;
    }
}

impl<V: Number, O: Offset> FillEmptyRows<V, O> {
    #[device]
    fn fill_empty_rows<const BLOCK: usize>(self, _: Arena) {
        let row = thread::block() as usize * BLOCK + thread::index() as usize;
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
        /// What is reduced, and how.
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
    entries: {
        reduce_sum_u32_by_row in reduce_sum_u32: <V = u32>, with P = Sum, 256 x 28;
        reduce_sum_i32_by_row in reduce_sum_i32: <V = i32>, with P = Sum, 256 x 28;
        reduce_sum_u64_by_row in reduce_sum_u64: <V = u64>, with P = Sum, 256 x 14;
        reduce_sum_f32_by_row in reduce_sum_f32: <V = f32>, with P = Sum, 256 x 28;
        reduce_sum_f64_by_row in reduce_sum_f64: <V = f64>, with P = Sum, 256 x 14;
        reduce_min_u32_by_row in reduce_min_u32: <V = u32>, with P = Min, 256 x 28;
        reduce_min_i32_by_row in reduce_min_i32: <V = i32>, with P = Min, 256 x 28;
        reduce_min_u64_by_row in reduce_min_u64: <V = u64>, with P = Min, 256 x 14;
        reduce_min_f32_by_row in reduce_min_f32: <V = f32>, with P = Min, 256 x 28;
        reduce_min_f64_by_row in reduce_min_f64: <V = f64>, with P = Min, 256 x 14;
    }
}

/// Sums at the places of their rows.
struct RowSums<V> {
    filled_rows: Global<u32>,
    sums: GlobalMut<V>,
}

impl<V: Number> Output<V> for RowSums<V> {
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
