//! Rows of C, each computed by the fastest method for it.

use std::ops::Range;

use super::accumulator::Accumulator;
use super::instructions::{DISTANCE_BITS, FLAGS, MOST_SORTED, PortableSort, SortInstructions, Vectors};
use super::repeated::Repeated;
use super::workspace::Workspace;
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2Sort, Avx512Sort};
use crate::{CsrView, Offset, Scalar};

/// Maximum number of columns in an accumulator.
const MOST_SUMS: usize = 1 << 22;
/// Maximum number of columns in an accumulator, per product.
const MOST_SUMS_A_PRODUCT: usize = 1 << 8;

/// Minimum number of products per group of columns for which all groups are searched.
const PRODUCTS_A_GROUP: usize = 4;

/// Number of bytes of B that usually stay in a core's caches.
const CACHED_BYTES: usize = 1 << 20;

/// The operands.
pub(super) struct CpuSpgemmOperands<'a, V, O> {
    a: CsrView<'a, V, O>,
    b: CsrView<'a, V, O>,
    repeated: Repeated,
    /// True if B is so large that its rows are prefetched.
    fetches: bool,
}

/// Properties of a row known before it is computed.
struct RowProperties {
    products: usize,
    /// First and last column.
    ends: (u32, u32),
    /// Number of rows of B that have entries.
    filled: usize,
}

impl<'a, V: Scalar, O: Offset> CpuSpgemmOperands<'a, V, O> {
    /// # Safety
    /// Both matrices are canonical, and B has a row for each column of A.
    pub(super) unsafe fn new(a: CsrView<'a, V, O>, b: CsrView<'a, V, O>, repeated: Repeated) -> Self {
        let fetches = b.nnz() * (size_of::<V>() + 4) > CACHED_BYTES;
        Self { a, b, repeated, fetches }
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.a.nrows()
    }

    /// The number of products of a row.
    pub(super) fn count_products(&self, row: usize) -> usize {
        self.products(row).map(|(_, columns, _)| columns.len()).sum()
    }

    /// Computes rows into the block of the workspace. The machine must have the instructions.
    pub(super) fn compute(
        &self,
        rows: Range<usize>,
        workspace: &mut Workspace<V>,
        instructions: SortInstructions,
    ) {
        match instructions {
            // SAFETY: every machine has the instructions.
            SortInstructions::Portable => unsafe { self.compute_with::<PortableSort>(rows, workspace) },
            // SAFETY: the machine has the instructions.
            #[cfg(target_arch = "x86_64")]
            SortInstructions::Avx2 => unsafe { self.compute_avx2(rows, workspace) },
            // SAFETY: the machine has the instructions.
            #[cfg(target_arch = "x86_64")]
            SortInstructions::Avx512 => unsafe { self.compute_avx512(rows, workspace) },
            // SAFETY: the machine has the instructions.
            #[cfg(target_arch = "x86_64")]
            SortInstructions::Avx512Bytes => unsafe { self.compute_avx512_bytes(rows, workspace) },
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    unsafe fn compute_avx2(&self, rows: Range<usize>, workspace: &mut Workspace<V>) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.compute_with::<Avx2Sort>(rows, workspace) };
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
    unsafe fn compute_avx512(&self, rows: Range<usize>, workspace: &mut Workspace<V>) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.compute_with::<Avx512Sort<false>>(rows, workspace) };
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,bmi1,bmi2,popcnt")]
    unsafe fn compute_avx512_bytes(&self, rows: Range<usize>, workspace: &mut Workspace<V>) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.compute_with::<Avx512Sort<true>>(rows, workspace) };
    }

    /// # Safety
    /// The machine has the instructions.
    // Inlined into the function that enables the instructions, as is everything that it calls.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn compute_with<I: Vectors>(&self, rows: Range<usize>, workspace: &mut Workspace<V>) {
        workspace.block.clear();
        let columns = |row| &self.a.column_indices()[self.a.range(row)];
        let (mut shift, mut has_positions) = (None, false);
        for row in rows.clone() {
            if columns(row).is_empty() {
                workspace.block.end_row(0);
                continue;
            }
            if self.fetches && row + 1 < rows.end {
                self.fetch(row + 1);
            }
            match shift {
                // SAFETY: the positions are those of the previous row, which has the same products.
                Some(shift) if has_positions => unsafe { self.repeat(row, shift, workspace) },
                // SAFETY: guaranteed by the caller.
                _ => unsafe { self.compute_row::<I>(row, workspace) },
            }
            shift = None;
            if row + 1 < rows.end {
                shift = self.repeated.shift(columns(row), columns(row + 1));
            }
            has_positions = shift.is_some()
                && (has_positions
                    || workspace.positions.find(
                        workspace.block.last_row(),
                        columns(row).iter().map(|&k| &self.b.column_indices()[self.b.range(k as usize)]),
                    ));
        }
    }

    /// Prefetches the starts of the rows of B for a row of A.
    #[inline]
    fn fetch(&self, row: usize) {
        #[cfg(not(target_arch = "x86_64"))]
        let _ = row;
        #[cfg(target_arch = "x86_64")]
        for &k in &self.a.column_indices()[self.a.range(row)] {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

            // SAFETY: it is a column of A, and a prefetched address need not be valid.
            unsafe {
                let (columns, values) = self.row_of_b(k);
                _mm_prefetch::<_MM_HINT_T0>(columns.as_ptr().cast());
                _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().cast());
                _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().wrapping_byte_add(64).cast());
            }
        }
    }

    /// The columns and values of a row of B.
    ///
    /// # Safety
    /// `k` is a column of A.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn row_of_b(&self, k: u32) -> (&'a [u32], &'a [V]) {
        let (offsets, k) = (self.b.row_offsets(), k as usize);
        // SAFETY: B has a row for each column of A.
        unsafe {
            let range = offsets.get_unchecked(k).to_usize()..offsets.get_unchecked(k + 1).to_usize();
            (self.b.column_indices().get_unchecked(range.clone()), self.b.values().get_unchecked(range))
        }
    }

    /// Pairs each entry of a row of A with its row of B.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn products(&self, row: usize) -> impl Iterator<Item = (V, &'a [u32], &'a [V])> {
        let range = self.a.range(row);
        let (columns, values) = (&self.a.column_indices()[range.clone()], &self.a.values()[range]);
        columns.iter().zip(values).map(|(&k, &left)| {
            // SAFETY: it is a column of A.
            let (columns, values) = unsafe { self.row_of_b(k) };
            (left, columns, values)
        })
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn shape(&self, row: usize) -> RowProperties {
        let mut shape = RowProperties { products: 0, ends: (u32::MAX, 0), filled: 0 };
        for (_, columns, _) in self.products(row) {
            if let (Some(first), Some(last)) = (columns.first(), columns.last()) {
                shape.products += columns.len();
                shape.filled += 1;
                shape.ends = (shape.ends.0.min(*first), shape.ends.1.max(*last));
            }
        }
        shape
    }

    /// Computes a row that is unrelated to the previous one.
    ///
    /// # Safety
    /// The machine has the instructions.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn compute_row<I: Vectors>(&self, row: usize, workspace: &mut Workspace<V>) {
        let Workspace { block, accumulator, sorter, pairs, .. } = workspace;
        if let [k] = self.a.column_indices()[self.a.range(row)] {
            // SAFETY: it is a column of A.
            let (columns, values) = block.room(unsafe { self.row_of_b(k) }.0.len());
            let entries = self.scale_row(row, columns, values);
            return block.end_row(entries);
        }
        let shape = self.shape(row);
        if shape.products == 0 {
            return block.end_row(0);
        }
        let span = (shape.ends.1 - shape.ends.0) as usize + 1;
        let (columns, values) = block.room(shape.products.min(span));
        let entries = if shape.filled == 1 {
            self.scale_row(row, columns, values)
        } else if shape.should_sort(I::SORT_COST, span) {
            let mut count = 0;
            for (left, columns, values) in self.products(row) {
                // SAFETY: guaranteed by the caller.
                unsafe { I::add_products(sorter, count, shape.ends.0, left, (columns, values)) };
                count += columns.len();
            }
            // SAFETY: guaranteed by the caller.
            unsafe { I::sort_products(sorter, count, shape.ends.0, columns, values) }
        } else if span <= MOST_SUMS.min(MOST_SUMS_A_PRODUCT * shape.products) {
            accumulator.reserve(span);
            // SAFETY: rows of B are ascending, so their columns are within the ends; otherwise guaranteed by
            // the caller.
            unsafe {
                if span / FLAGS > shape.products / PRODUCTS_A_GROUP {
                    self.accumulate::<I, true>(row, shape.ends, accumulator, columns, values)
                } else {
                    self.accumulate::<I, false>(row, shape.ends, accumulator, columns, values)
                }
            }
        } else {
            self.products(row).for_each(|(left, columns, values)| pairs.add(left, columns, values));
            pairs.drain(columns, values)
        };
        block.end_row(entries);
    }

    /// Computes a row from one row of B.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn scale_row(&self, row: usize, columns: &mut [u32], values: &mut [V]) -> usize {
        let mut entries = 0;
        for (left, b_columns, b_values) in self.products(row) {
            let to = columns.iter_mut().zip(&mut *values);
            for ((column, value), (&b_column, &right)) in to.zip(b_columns.iter().zip(b_values)) {
                (*column, *value) = (b_column, left * right);
            }
            entries += b_columns.len();
        }
        entries
    }

    /// Computes a row by adding its products to sums by column.
    ///
    /// # Safety
    /// The same as for [`Accumulator::drain`], and all columns are within the ends.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn accumulate<I: Vectors, const SPARSE: bool>(
        &self,
        row: usize,
        ends: (u32, u32),
        accumulator: &mut Accumulator<V>,
        columns: &mut [u32],
        values: &mut [V],
    ) -> usize {
        for (left, columns, values) in self.products(row) {
            // SAFETY: guaranteed by the caller.
            unsafe { accumulator.add::<SPARSE>(ends.0, left, columns, values) };
        }
        // SAFETY: guaranteed by the caller.
        unsafe { accumulator.drain::<I, SPARSE>(ends, columns, values) }
    }

    /// Computes a row with the products of the previous row, in shifted columns.
    ///
    /// # Safety
    /// The positions are those of the products.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn repeat(&self, row: usize, shift: u32, workspace: &mut Workspace<V>) {
        let [(last_columns, _), (columns, values)] = workspace.block.room_after_last();
        for (column, &last) in columns.iter_mut().zip(&*last_columns) {
            *column = last + shift;
        }
        values.fill(-V::default());
        let mut positions = workspace.positions.0.as_slice();
        for (left, columns, right) in self.products(row) {
            // SAFETY: there is a position for each product, below the number of entries.
            unsafe {
                let (own, rest) = positions.split_at_unchecked(columns.len());
                positions = rest;
                for (&position, &right) in own.iter().zip(right) {
                    let sum = values.get_unchecked_mut(usize::from(position));
                    *sum += left * right;
                }
            }
        }
        let entries = values.len();
        workspace.block.end_row(entries);
    }
}

impl RowProperties {
    /// Returns whether sorting the products, at this cost, is faster than searching the sums of this many
    /// columns.
    #[inline]
    fn should_sort(&self, cost: Option<usize>, span: usize) -> bool {
        let Some(cost) = cost else { return false };
        let few = if self.products <= 64 { 5 } else { self.products * self.products * cost / 600 };
        self.products <= MOST_SORTED && span <= 1 << DISTANCE_BITS && span / FLAGS > few
    }
}
