//! Sums of rows with AVX2.
//!
//! The functions are inlined into the one that enables the instructions: a call per row would cost a tenth of the time.

use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
use std::ops::Range;

use super::Lanes;
use crate::cpu::spmv::kernel::FourRows;

/// Number of nonzeros per step in a long row.
const STEP: usize = 16;
/// Prefetching distance for elements of x, in nonzeros.
const AHEAD: usize = 64;
/// Number of nonzeros in four lanes.
pub(super) const QUAD: usize = 4;

/// The arrays of a matrix, and x.
///
/// # Safety of the functions
/// The machine has AVX2 and FMA. There is one value per column, ranges are within both arrays, and every column is below
/// the length of `x`.
pub(in super::super) struct Avx2Rows<'a, V> {
    pub(in super::super) columns: &'a [u32],
    pub(in super::super) values: &'a [V],
    pub(in super::super) x: &'a [V],
}

impl<V: Lanes> Avx2Rows<'_, V> {
    /// Prefetches elements of x for `count` nonzeros, `AHEAD` of the first of these columns.
    #[inline]
    pub(in super::super) fn prefetch_x(&self, columns: &[u32], count: usize) {
        for column in columns.iter().skip(AHEAD).take(count) {
            prefetch(self.x, *column as usize);
        }
    }

    /// Sums the products of a range. With `RUNS`, consecutive columns are searched.
    ///
    /// # Safety
    /// The same as above.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(in super::super) unsafe fn sum<const RUNS: bool>(&self, range: Range<usize>) -> V {
        let Range { start: mut at, end } = range;
        let (columns, values, x) = (self.columns.as_ptr(), self.values.as_ptr(), self.x.as_ptr());
        // SAFETY: guaranteed by the caller: whole steps and quads are within the range.
        unsafe {
            let mut sum = V::zero();
            if at + STEP <= end {
                let mut sums = [V::zero_wide(); 4];
                while at + STEP <= end {
                    for (index, sum) in sums.iter_mut().enumerate().take(STEP / V::WIDE) {
                        let at = at + index * V::WIDE;
                        let values = V::load_wide(values.add(at));
                        *sum = V::multiply_add_wide(values, self.elements::<RUNS>(at), *sum);
                    }
                    at += STEP;
                }
                sum = V::fold(V::add_wide(V::add_wide(sums[0], sums[1]), V::add_wide(sums[2], sums[3])));
            }
            while at + QUAD <= end {
                sum = V::multiply_add(values.add(at), V::pick(columns.add(at), x), sum);
                at += QUAD;
            }
            if at < end {
                sum = V::add_quads(sum, self.products(at, end - at));
            }
            V::total(sum)
        }
    }

    /// The elements of x in the columns starting at `at`.
    ///
    /// # Safety
    /// The same as above; there are as many columns as lanes.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn elements<const RUNS: bool>(&self, at: usize) -> V::Wide {
        let (columns, x) = (self.columns.as_ptr(), self.x.as_ptr());
        // SAFETY: guaranteed by the caller: the last column of a run is below the length of x too.
        unsafe {
            let columns = columns.add(at);
            if RUNS && V::are_consecutive(columns) {
                return V::load_wide(x.add(*columns as usize));
            }
            V::pick_wide(columns, x)
        }
    }

    /// Computes `count` products, at most four, and zeros. Elements after them are read too, but have no
    /// effect.
    ///
    /// # Safety
    /// The same as above.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(super) unsafe fn products(&self, at: usize, count: usize) -> V::Quad {
        if at + QUAD > self.columns.len() {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.last_products(at, count) };
        }
        // SAFETY: guaranteed by the caller: there are four entries starting at `at`.
        unsafe {
            let x = V::pick(self.columns.as_ptr().add(at), self.x.as_ptr());
            V::products(self.values.as_ptr().add(at), x, count)
        }
    }

    /// The same if fewer than four entries follow.
    ///
    /// # Safety
    /// The same as above.
    #[cold]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn last_products(&self, at: usize, count: usize) -> V::Quad {
        let (mut values, mut x) = ([V::ZERO; QUAD], [V::ZERO; QUAD]);
        for index in 0..count {
            values[index] = self.values[at + index];
            x[index] = self.x[self.columns[at + index] as usize];
        }
        // SAFETY: all arrays have four elements.
        unsafe { V::products(values.as_ptr(), V::pick([0, 1, 2, 3].as_ptr(), x.as_ptr()), count) }
    }

    /// Sums four rows of at most four nonzeros each.
    ///
    /// # Safety
    /// The same as above; the rows are [short](FourRows::are_short).
    #[allow(clippy::inline_always)]
    #[inline(always)]
    pub(in super::super) unsafe fn short_sums(&self, rows: FourRows) -> [V; 4] {
        if rows.are_empty() {
            return [V::ZERO; 4];
        }
        let [a, b, c, d] = rows.ranges();
        // SAFETY: guaranteed by the caller.
        unsafe {
            V::totals([
                self.products(a.start, a.len()),
                self.products(b.start, b.len()),
                self.products(c.start, c.len()),
                self.products(d.start, d.len()),
            ])
        }
    }
}

/// Prefetches an element, if it exists.
#[inline]
pub(super) fn prefetch<T>(array: &[T], index: usize) {
    // SAFETY: a prefetch of any address is allowed.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(array.as_ptr().wrapping_add(index).cast()) }
}
