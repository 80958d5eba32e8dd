//! Sums of products with the gathers of AVX2 and AVX-512.
//!
//! The last, partial group of a row is masked. A loop over single elements would cost a branch misprediction per row;
//! masking doubles the speed on matrices with short rows of uneven length.

use std::arch::x86_64::{
    __m256, __m256i, __m512d, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehl_ps, _mm_shuffle_ps,
    _mm256_add_ps, _mm256_castps256_ps128, _mm256_castsi256_ps, _mm256_extractf128_ps, _mm256_fmadd_ps,
    _mm256_i32gather_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_mask_i32gather_ps,
    _mm256_maskload_epi32, _mm256_maskload_ps, _mm256_maskz_loadu_epi32, _mm256_setzero_ps, _mm512_add_pd,
    _mm512_fmadd_pd, _mm512_i32gather_pd, _mm512_loadu_pd, _mm512_mask_i32gather_pd, _mm512_maskz_loadu_pd,
    _mm512_reduce_add_pd, _mm512_setzero_pd,
};

use evenpath_simt::ScalarType;

use crate::Value;

/// Sum of `values[i] * x[columns[i]]`, in interleaved partial sums, with one rounding per product and sum.
///
/// # Safety
/// The machine has AVX2, FMA, and AVX-512 F and VL. There is one value per column. Every column is below the length of
/// `x`, which is at most `i32::MAX`.
#[inline]
#[target_feature(enable = "avx2,fma,avx512f,avx512vl")]
pub(in super::super) unsafe fn sum<V: Value>(columns: &[u32], values: &[V], x: &[V]) -> V {
    // SAFETY: guaranteed by the caller. The casts are from a type to itself.
    unsafe {
        match V::TYPE {
            // With 16 lanes, most would be idle on short rows; 8 are fastest for both types.
            ScalarType::F32 => {
                bytemuck::cast(avx2_f32s(columns, bytemuck::cast_slice(values), bytemuck::cast_slice(x)))
            }
            _ => bytemuck::cast(avx512_f64s(columns, bytemuck::cast_slice(values), bytemuck::cast_slice(x))),
        }
    }
}

/// The sum of products for one type. `group` adds one product per lane, `part` adds at least one product but fewer than
/// lanes; both start at the given column and value.
macro_rules! sum_of_products {
    ($name:ident, $features:literal, $type:ty, $lanes:literal, $zero:ident, $add:ident, $total:ident,
     group: $group:expr, part: $part:expr) => {
        /// # Safety
        /// The same as for [`sum`].
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn $name(columns: &[u32], values: &[$type], x: &[$type]) -> $type {
            if columns.is_empty() {
                return 0.0;
            }
            let (columns, values, x, count) = (columns.as_ptr(), values.as_ptr(), x.as_ptr(), columns.len());
            // SAFETY: a whole group starts at `at`.
            let group = |at: usize, sum| unsafe { $group(columns.add(at).cast(), values.add(at), x, sum) };
            let (mut at, mut sum) = (0, $zero());
            if count >= 4 * $lanes {
                let mut sums = [$zero(); 4];
                while at + 4 * $lanes <= count {
                    for (step, sum) in sums.iter_mut().enumerate() {
                        *sum = group(at + step * $lanes, *sum);
                    }
                    at += 4 * $lanes;
                }
                sum = $add($add(sums[0], sums[1]), $add(sums[2], sums[3]));
            }
            while at + $lanes <= count {
                sum = group(at, sum);
                at += $lanes;
            }
            if at < count {
                // SAFETY: this many nonzeros start at `at`, fewer than lanes.
                sum = unsafe { $part(columns.add(at).cast(), values.add(at), x, sum, count - at) };
            }
            $total(sum)
        }
    };
}

/// The 8 elements starting at index 8 - n mask the first n lanes.
static MASK_32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
sum_of_products!(
    avx2_f32s, "avx2,fma", f32, 8, _mm256_setzero_ps, _mm256_add_ps, total_f32s,
    group: |columns: *const __m256i, values, x, sum| {
        let x = _mm256_i32gather_ps::<4>(x, _mm256_loadu_si256(columns));
        _mm256_fmadd_ps(_mm256_loadu_ps(values), x, sum)
    },
    part: |columns: *const i32, values, x, sum, count: usize| {
        let mask = _mm256_loadu_si256(MASK_32.as_ptr().add(8 - count).cast());
        let columns = _mm256_maskload_epi32(columns, mask);
        let x = _mm256_mask_i32gather_ps::<4>(_mm256_setzero_ps(), x, columns, _mm256_castsi256_ps(mask));
        _mm256_fmadd_ps(_mm256_maskload_ps(values, mask), x, sum)
    }
);

sum_of_products!(
    avx512_f64s, "avx2,avx512f,avx512vl", f64, 8, _mm512_setzero_pd, _mm512_add_pd, total_8_f64s,
    group: |columns: *const __m256i, values, x, sum| {
        let x = _mm512_i32gather_pd::<8>(_mm256_loadu_si256(columns), x);
        _mm512_fmadd_pd(_mm512_loadu_pd(values), x, sum)
    },
    part: |columns: *const i32, values, x, sum, count: usize| {
        let mask = ((1_u32 << count) - 1) as u8;
        let columns = _mm256_maskz_loadu_epi32(mask, columns);
        let x = _mm512_mask_i32gather_pd::<8>(_mm512_setzero_pd(), mask, columns, x);
        _mm512_fmadd_pd(_mm512_maskz_loadu_pd(mask, values), x, sum)
    }
);

#[inline]
#[target_feature(enable = "avx2")]
fn total_f32s(lanes: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps::<1>(lanes));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn total_8_f64s(lanes: __m512d) -> f64 {
    _mm512_reduce_add_pd(lanes)
}
