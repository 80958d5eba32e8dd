//! The operations for `f64`.

use std::arch::x86_64::{
    __m256d, _mm_add_epi32, _mm_add_pd, _mm_add_sd, _mm_broadcastd_epi32, _mm_cmpeq_epi32, _mm_cvtsd_f64,
    _mm_loadu_si128, _mm_movemask_epi8, _mm_set_epi32, _mm_set1_epi32, _mm_sub_epi32, _mm_unpackhi_pd,
    _mm256_add_epi64, _mm256_add_pd, _mm256_and_pd, _mm256_andnot_si256, _mm256_castpd_si256,
    _mm256_castpd256_pd128, _mm256_castsi256_pd, _mm256_cvtepi32_epi64, _mm256_cvtepu32_epi64,
    _mm256_extractf128_pd, _mm256_fmadd_pd, _mm256_hadd_pd, _mm256_loadu_pd, _mm256_loadu_si256,
    _mm256_mul_pd, _mm256_or_si256, _mm256_permute2f128_pd, _mm256_permutevar8x32_epi32, _mm256_set_pd,
    _mm256_set1_epi64x, _mm256_set1_pd, _mm256_setzero_pd, _mm256_slli_epi64, _mm256_storeu_pd,
    _mm256_unpackhi_pd, _mm256_unpacklo_pd,
};

use super::{Lanes, MASK_64, pick};

impl Lanes for f64 {
    type Wide = __m256d;
    type Quad = __m256d;

    const WIDE: usize = 4;

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn zero_wide() -> __m256d {
        _mm256_setzero_pd()
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn splat(value: f64) -> __m256d {
        _mm256_set1_pd(value)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn multiply_wide(a: __m256d, b: __m256d) -> __m256d {
        _mm256_mul_pd(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn add_wide(a: __m256d, b: __m256d) -> __m256d {
        _mm256_add_pd(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn load_wide(from: *const f64) -> __m256d {
        // SAFETY: guaranteed by the caller.
        unsafe { _mm256_loadu_pd(from) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn pick_wide(columns: *const u32, x: *const f64) -> __m256d {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::pick_strided(columns, 1, x) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn pick_strided(columns: *const u32, stride: usize, x: *const f64) -> __m256d {
        // SAFETY: guaranteed by the caller.
        let x = |row| unsafe { pick(columns, row * stride, x) };
        _mm256_set_pd(x(3), x(2), x(1), x(0))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn multiply_add_wide(values: __m256d, x: __m256d, sum: __m256d) -> __m256d {
        _mm256_fmadd_pd(values, x, sum)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn expand(products: __m256d, offsets: *const u32) -> __m256d {
        // SAFETY: guaranteed by the caller.
        let (starts, ends) =
            unsafe { (_mm_loadu_si128(offsets.cast()), _mm_loadu_si128(offsets.add(1).cast())) };
        let equal = _mm256_cvtepi32_epi64(_mm_cmpeq_epi32(starts, ends));
        let places = _mm_sub_epi32(starts, _mm_broadcastd_epi32(starts));
        // Both halves of each product.
        let low = _mm256_slli_epi64::<1>(_mm256_cvtepu32_epi64(places));
        let high = _mm256_slli_epi64::<32>(_mm256_add_epi64(low, _mm256_set1_epi64x(1)));
        let halves = _mm256_or_si256(low, high);
        let expanded = _mm256_permutevar8x32_epi32(_mm256_castpd_si256(products), halves);
        _mm256_castsi256_pd(_mm256_andnot_si256(equal, expanded))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn strided(first: *const f64, stride: usize) -> __m256d {
        // SAFETY: guaranteed by the caller.
        let row = |at| unsafe { *first.add(at * stride) };
        _mm256_set_pd(row(3), row(2), row(1), row(0))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn transposed(first: *const f64, stride: usize) -> [__m256d; 4] {
        // SAFETY: guaranteed by the caller.
        let row = |at| unsafe { _mm256_loadu_pd(first.add(at * stride)) };
        let (a, b, c, d) = (row(0), row(1), row(2), row(3));
        let (ab_even, ab_odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        let (cd_even, cd_odd) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
        [
            _mm256_permute2f128_pd::<0x20>(ab_even, cd_even),
            _mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd),
            _mm256_permute2f128_pd::<0x31>(ab_even, cd_even),
            _mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd),
        ]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn store_wide(wide: __m256d, to: *mut f64) {
        // SAFETY: guaranteed by the caller.
        unsafe { _mm256_storeu_pd(to, wide) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn are_consecutive(columns: *const u32) -> bool {
        // SAFETY: guaranteed by the caller.
        let (first, columns) = unsafe { (*columns, _mm_loadu_si128(columns.cast())) };
        let run = _mm_add_epi32(_mm_set1_epi32(first as i32), _mm_set_epi32(3, 2, 1, 0));
        _mm_movemask_epi8(_mm_cmpeq_epi32(columns, run)) == 0xffff
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn fold(wide: __m256d) -> __m256d {
        wide
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn zero() -> __m256d {
        _mm256_setzero_pd()
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn add_quads(a: __m256d, b: __m256d) -> __m256d {
        _mm256_add_pd(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn pick(columns: *const u32, x: *const f64) -> __m256d {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::pick_wide(columns, x) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn multiply_add(values: *const f64, x: __m256d, sum: __m256d) -> __m256d {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::multiply_add_wide(Self::load_wide(values), x, sum) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn products(values: *const f64, x: __m256d, count: usize) -> __m256d {
        // SAFETY: guaranteed by the caller; the mask is in the table.
        unsafe {
            let mask = _mm256_loadu_si256(MASK_64.as_ptr().add(4 - count).cast());
            let products = _mm256_mul_pd(_mm256_loadu_pd(values), x);
            _mm256_and_pd(products, _mm256_castsi256_pd(mask))
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn total(lanes: __m256d) -> f64 {
        let two = _mm_add_pd(_mm256_castpd256_pd128(lanes), _mm256_extractf128_pd::<1>(lanes));
        _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn totals([a, b, c, d]: [__m256d; 4]) -> [f64; 4] {
        let (ab, cd) = (_mm256_hadd_pd(a, b), _mm256_hadd_pd(c, d));
        let low = _mm256_permute2f128_pd::<0x20>(ab, cd);
        let high = _mm256_permute2f128_pd::<0x31>(ab, cd);
        let mut totals = [0.0; 4];
        // SAFETY: there are four.
        unsafe { _mm256_storeu_pd(totals.as_mut_ptr(), _mm256_add_pd(low, high)) };
        totals
    }
}
