//! Rows of a tile, with vectors and sums of a wider type than the values: the mixed precision of Pasandide's study (section C).

use std::ops::Range;

use evenpath_simt::WidenTo;

use super::super::merge_path::Coordinate;
#[cfg(target_arch = "x86_64")]
use super::instructions::has_avx2;
use super::portable;
use crate::{CsrView, Offset, Scalar, Storage};

/// Operands that all tiles share. Every column is below the length of x.
pub(super) struct WideOperands<'a, S, V, O> {
    row_ends: &'a [O],
    columns: &'a [u32],
    values: &'a [S],
    alpha: V,
    x: &'a [V],
    beta: V,
}

impl<'a, S: Storage + WidenTo<V>, V: Scalar, O: Offset> WideOperands<'a, S, V, O> {
    /// Creates the operands for an x with one element per column.
    pub(super) fn new(matrix: CsrView<'a, S, O>, alpha: V, x: &'a [V], beta: V) -> Self {
        assert_eq!(x.len(), matrix.ncols(), "shapes are checked by the caller");
        let row_ends = &matrix.row_offsets()[1..];
        Self { row_ends, columns: matrix.column_indices(), values: matrix.values(), alpha, x, beta }
    }

    /// Computes the rows that end in a tile, and returns its partial sum of the row after them. Sums are the same with all
    /// instructions.
    pub(super) fn run_tile(&self, path: &Range<Coordinate>, finished: &mut [V]) -> Option<V> {
        #[cfg(target_arch = "x86_64")]
        if has_avx2() {
            // SAFETY: the machine has AVX2.
            return unsafe { self.run_rows_avx2(path, finished) };
        }
        self.run_rows(path, finished)
    }

    /// # Safety
    /// The machine has AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn run_rows_avx2(&self, path: &Range<Coordinate>, finished: &mut [V]) -> Option<V> {
        self.run_rows(path, finished)
    }

    // Inlined into the function that enables the instructions, so that sums are compiled with them.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn run_rows(&self, path: &Range<Coordinate>, finished: &mut [V]) -> Option<V> {
        let mut start = path.start.nonzero;
        for (y, end) in finished.iter_mut().zip(&self.row_ends[path.start.row..path.end.row]) {
            let end = end.to_usize();
            let product = self.alpha * self.sum(start..end);
            *y = if self.beta == V::ZERO { product } else { product + self.beta * *y };
            start = end;
        }
        let rest = start..path.end.nonzero;
        if rest.is_empty() {
            return None;
        }
        Some(self.sum(rest))
    }

    /// Sums the products of a range of nonzeros.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    fn sum(&self, range: Range<usize>) -> V {
        // SAFETY: columns are below the length of x.
        unsafe { portable::sum(&self.columns[range.clone()], &self.values[range], self.x) }
    }
}
