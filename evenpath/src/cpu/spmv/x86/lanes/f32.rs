//! The operations for `f32`.

use std::arch::x86_64::{
    __m128, __m256, _mm_add_ps, _mm_add_ss, _mm_and_ps, _mm_castsi128_ps, _mm_cvtss_f32, _mm_fmadd_ps,
    _mm_hadd_ps, _mm_loadu_ps, _mm_loadu_si128, _mm_movehl_ps, _mm_mul_ps, _mm_set_ps, _mm_setzero_ps,
    _mm_shuffle_ps, _mm_storeu_ps, _mm256_add_epi32, _mm256_add_ps, _mm256_andnot_ps,
    _mm256_broadcastd_epi32, _mm256_castps256_ps128, _mm256_castsi256_ps, _mm256_castsi256_si128,
    _mm256_cmpeq_epi32, _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm256_movemask_epi8, _mm256_mul_ps, _mm256_permutevar8x32_ps, _mm256_set_epi32, _mm256_set_m128,
    _mm256_set_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps, _mm256_shuffle_ps, _mm256_storeu_ps,
    _mm256_sub_epi32, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
};

use super::{Lanes, MASK_32, pick};

impl Lanes for f32 {
    type Wide = __m256;
    type Quad = __m128;

    const WIDE: usize = 8;

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn zero_wide() -> __m256 {
        _mm256_setzero_ps()
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn splat(value: f32) -> __m256 {
        _mm256_set1_ps(value)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn multiply_wide(a: __m256, b: __m256) -> __m256 {
        _mm256_mul_ps(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn add_wide(a: __m256, b: __m256) -> __m256 {
        _mm256_add_ps(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn load_wide(from: *const f32) -> __m256 {
        // SAFETY: guaranteed by the caller.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn pick_wide(columns: *const u32, x: *const f32) -> __m256 {
        // SAFETY: guaranteed by the caller.
        unsafe { Self::pick_strided(columns, 1, x) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn pick_strided(columns: *const u32, stride: usize, x: *const f32) -> __m256 {
        // SAFETY: guaranteed by the caller.
        let x = |row| unsafe { pick(columns, row * stride, x) };
        _mm256_set_ps(x(7), x(6), x(5), x(4), x(3), x(2), x(1), x(0))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn multiply_add_wide(values: __m256, x: __m256, sum: __m256) -> __m256 {
        _mm256_fmadd_ps(values, x, sum)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn expand(products: __m256, offsets: *const u32) -> __m256 {
        // SAFETY: guaranteed by the caller.
        let (starts, ends) =
            unsafe { (_mm256_loadu_si256(offsets.cast()), _mm256_loadu_si256(offsets.add(1).cast())) };
        let first = _mm256_broadcastd_epi32(_mm256_castsi256_si128(starts));
        let expanded = _mm256_permutevar8x32_ps(products, _mm256_sub_epi32(starts, first));
        _mm256_andnot_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(starts, ends)), expanded)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn strided(first: *const f32, stride: usize) -> __m256 {
        // SAFETY: guaranteed by the caller.
        let row = |at| unsafe { *first.add(at * stride) };
        _mm256_set_ps(row(7), row(6), row(5), row(4), row(3), row(2), row(1), row(0))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn transposed(first: *const f32, stride: usize) -> [__m256; 4] {
        // SAFETY: guaranteed by the caller.
        let four = |at| unsafe { _mm_loadu_ps(first.add(at * stride)) };
        // A row and the fourth after it.
        let rows = |at| _mm256_set_m128(four(at + 4), four(at));
        let (a, b, c, d) = (rows(0), rows(1), rows(2), rows(3));
        let (ab_low, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (cd_low, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0x44>(ab_low, cd_low),
            _mm256_shuffle_ps::<0xee>(ab_low, cd_low),
            _mm256_shuffle_ps::<0x44>(ab_high, cd_high),
            _mm256_shuffle_ps::<0xee>(ab_high, cd_high),
        ]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn store_wide(wide: __m256, to: *mut f32) {
        // SAFETY: guaranteed by the caller.
        unsafe { _mm256_storeu_ps(to, wide) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn are_consecutive(columns: *const u32) -> bool {
        // SAFETY: guaranteed by the caller.
        let (first, columns) = unsafe { (*columns, _mm256_loadu_si256(columns.cast())) };
        let run = _mm256_add_epi32(_mm256_set1_epi32(first as i32), _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
        _mm256_movemask_epi8(_mm256_cmpeq_epi32(columns, run)) == -1
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn fold(wide: __m256) -> __m128 {
        _mm_add_ps(_mm256_castps256_ps128(wide), _mm256_extractf128_ps::<1>(wide))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn zero() -> __m128 {
        _mm_setzero_ps()
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn add_quads(a: __m128, b: __m128) -> __m128 {
        _mm_add_ps(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn pick(columns: *const u32, x: *const f32) -> __m128 {
        // SAFETY: guaranteed by the caller.
        let x = |at| unsafe { pick(columns, at, x) };
        _mm_set_ps(x(3), x(2), x(1), x(0))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn multiply_add(values: *const f32, x: __m128, sum: __m128) -> __m128 {
        // SAFETY: guaranteed by the caller.
        _mm_fmadd_ps(unsafe { _mm_loadu_ps(values) }, x, sum)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn products(values: *const f32, x: __m128, count: usize) -> __m128 {
        // SAFETY: guaranteed by the caller; the mask is in the table.
        unsafe {
            let mask = _mm_loadu_si128(MASK_32.as_ptr().add(4 - count).cast());
            let products = _mm_mul_ps(_mm_loadu_ps(values), x);
            _mm_and_ps(products, _mm_castsi128_ps(mask))
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn total(lanes: __m128) -> f32 {
        let two = _mm_add_ps(lanes, _mm_movehl_ps(lanes, lanes));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn totals([a, b, c, d]: [__m128; 4]) -> [f32; 4] {
        let mut totals = [0.0; 4];
        // SAFETY: there are four.
        unsafe { _mm_storeu_ps(totals.as_mut_ptr(), _mm_hadd_ps(_mm_hadd_ps(a, b), _mm_hadd_ps(c, d))) };
        totals
    }
}
