//! Sums of rows of one short length with AVX2.

use super::Lanes;
use super::avx2::{Avx2Rows, QUAD};

impl<V: Lanes> Avx2Rows<'_, V> {
    /// Computes consecutive rows of `LENGTH` nonzeros, the first of which starts at the nonzero `start`: all but the last few.
    /// Returns their number.
    ///
    /// # Safety
    /// The same as for all functions of [`Avx2Rows`].
    #[inline(never)]
    #[target_feature(enable = "avx2,fma")]
    pub(in super::super) unsafe fn even_rows<const LENGTH: usize>(
        &self,
        start: usize,
        (alpha, beta): (V, V),
        y: &mut [V],
    ) -> usize {
        let readable = self.values.len().saturating_sub(start + QUAD);
        let vectors = readable.checked_div(V::WIDE * LENGTH).unwrap_or(usize::MAX).min(y.len() / V::WIDE);
        // SAFETY: guaranteed by the caller; the rows are followed by as many values as a quad has.
        unsafe {
            let (wide_alpha, wide_beta) = (V::splat(alpha), V::splat(beta));
            for vector in 0..vectors {
                let sums = self.even_sums::<LENGTH>(start + vector * V::WIDE * LENGTH);
                update(wide_alpha, sums, (beta, wide_beta), y.as_mut_ptr().add(vector * V::WIDE));
            }
        }
        vectors * V::WIDE
    }

    /// Sums of as many rows of `LENGTH` nonzeros as there are lanes, each in the order of its entries.
    ///
    /// # Safety
    /// The same as above; the rows are followed by as many values as a quad has, which are read but have no effect.
    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn even_sums<const LENGTH: usize>(&self, start: usize) -> V::Wide {
        // SAFETY: guaranteed by the caller: `at` is below the length.
        unsafe {
            let (columns, values) = (self.columns.as_ptr().add(start), self.values.as_ptr().add(start));
            let x = |at: usize| V::pick_strided(columns.add(at), LENGTH, self.x.as_ptr());
            let mut sum = V::zero_wide();
            let mut at = 0;
            while at < LENGTH {
                if LENGTH == 1 {
                    sum = V::multiply_add_wide(V::load_wide(values), x(0), sum);
                } else if at + 1 == LENGTH {
                    sum = V::multiply_add_wide(V::strided(values.add(at), LENGTH), x(at), sum);
                } else {
                    let values = V::transposed(values.add(at), LENGTH);
                    for (index, values) in values.into_iter().enumerate().take(LENGTH - at) {
                        sum = V::multiply_add_wide(values, x(at + index), sum);
                    }
                }
                at += QUAD;
            }
            sum
        }
    }

    /// Computes rows of at most one nonzero, given one more offset than rows: all but the last few. Returns their number.
    ///
    /// # Safety
    /// The same as above.
    #[inline(never)]
    #[target_feature(enable = "avx2,fma")]
    pub(in super::super) unsafe fn single_rows(
        &self,
        offsets: &[u32],
        (alpha, beta): (V, V),
        y: &mut [V],
    ) -> usize {
        // SAFETY: guaranteed by the caller.
        let (wide_alpha, wide_beta) = unsafe { (V::splat(alpha), V::splat(beta)) };
        for (vector, y) in y.chunks_exact_mut(V::WIDE).enumerate() {
            let offsets = &offsets[vector * V::WIDE..][..=V::WIDE];
            let start = offsets[0] as usize;
            if start + V::WIDE > self.values.len() {
                return vector * V::WIDE;
            }
            // SAFETY: guaranteed by the caller; there are as many nonzeros as lanes.
            unsafe {
                let x = V::pick_wide(self.columns.as_ptr().add(start), self.x.as_ptr());
                let products = V::multiply_wide(V::load_wide(self.values.as_ptr().add(start)), x);
                let sums = V::expand(products, offsets.as_ptr());
                update(wide_alpha, sums, (beta, wide_beta), y.as_mut_ptr());
            }
        }
        y.len() / V::WIDE * V::WIDE
    }
}

/// Computes `alpha * sums + beta * y`.
///
/// # Safety
/// The machine has AVX2 and FMA, and `y` points to as many elements as there are lanes.
#[allow(clippy::inline_always)]
#[inline(always)]
unsafe fn update<V: Lanes>(alpha: V::Wide, sums: V::Wide, (beta, wide_beta): (V, V::Wide), y: *mut V) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let product = V::multiply_wide(alpha, sums);
        let result = if beta == V::ZERO {
            product
        } else {
            V::add_wide(product, V::multiply_wide(wide_beta, V::load_wide(y)))
        };
        V::store_wide(result, y);
    }
}
