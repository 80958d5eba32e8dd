//! The vector operations that sums of rows need, for each type.
//!
//! Elements of x are loaded one by one: on the processors where AVX2 is used, that is faster than a gather. The products of
//! a row's last, partial group are computed for all lanes and then masked. A masked load would be slower where it misses
//! the cache, and a loop over single elements would cost a branch misprediction per row.

use std::arch::x86_64::{
    __m128, __m256, __m256d, _mm_add_epi32, _mm_add_pd, _mm_add_ps, _mm_add_sd, _mm_add_ss, _mm_and_ps,
    _mm_castsi128_ps, _mm_cmpeq_epi32, _mm_cvtsd_f64, _mm_cvtss_f32, _mm_fmadd_ps, _mm_hadd_ps, _mm_loadu_ps,
    _mm_loadu_si128, _mm_movehl_ps, _mm_movemask_epi8, _mm_mul_ps, _mm_set_epi32, _mm_set_ps, _mm_set1_epi32,
    _mm_setzero_ps, _mm_shuffle_ps, _mm_storeu_ps, _mm_unpackhi_pd, _mm256_add_epi32, _mm256_add_pd,
    _mm256_add_ps, _mm256_and_pd, _mm256_castpd256_pd128, _mm256_castps256_ps128, _mm256_castsi256_pd,
    _mm256_cmpeq_epi32, _mm256_extractf128_pd, _mm256_extractf128_ps, _mm256_fmadd_pd, _mm256_fmadd_ps,
    _mm256_hadd_pd, _mm256_loadu_pd, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_movemask_epi8,
    _mm256_mul_pd, _mm256_permute2f128_pd, _mm256_set_epi32, _mm256_set_m128, _mm256_set_pd, _mm256_set_ps,
    _mm256_set1_epi32, _mm256_setzero_pd, _mm256_setzero_ps, _mm256_shuffle_ps, _mm256_storeu_pd,
    _mm256_storeu_ps, _mm256_unpackhi_pd, _mm256_unpackhi_ps, _mm256_unpacklo_pd, _mm256_unpacklo_ps,
};

use crate::Value;

/// Maximum number of lanes of [`Lanes::Wide`].
pub(in super::super) const MOST_LANES: usize = 8;

/// The operations, on a vector of 256 bits and on four lanes. `columns` points to as many column indices as
/// the vector has lanes, `values` to as many values.
///
/// # Safety
/// The machine has AVX2 and FMA. Every pointer is to as many elements as the vector has lanes, and every column that is
/// read is below the length of `x`.
pub(in super::super) trait Lanes: Value {
    /// 256 bits.
    type Wide: Copy;
    /// Four lanes.
    type Quad: Copy;

    /// Number of lanes of `Wide`.
    const WIDE: usize;

    unsafe fn zero_wide() -> Self::Wide;
    unsafe fn add_wide(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    unsafe fn load_wide(from: *const Self) -> Self::Wide;
    /// The elements of x in these columns.
    unsafe fn pick_wide(columns: *const u32, x: *const Self) -> Self::Wide;
    /// `values * x + sum`, rounded once.
    unsafe fn multiply_add_wide(values: Self::Wide, x: Self::Wide, sum: Self::Wide) -> Self::Wide;
    /// One element of each of as many rows as there are lanes; rows are `stride` elements apart.
    unsafe fn strided(first: *const Self, stride: usize) -> Self::Wide;
    /// The first four elements of each of these rows, by column.
    unsafe fn transposed(first: *const Self, stride: usize) -> [Self::Wide; 4];
    unsafe fn store_wide(wide: Self::Wide, to: *mut Self);
    /// Returns whether the columns are consecutive.
    unsafe fn are_consecutive(columns: *const u32) -> bool;
    /// Adds lanes until there are four.
    unsafe fn fold(wide: Self::Wide) -> Self::Quad;

    unsafe fn zero() -> Self::Quad;
    unsafe fn add_quads(a: Self::Quad, b: Self::Quad) -> Self::Quad;
    /// The elements of x in these columns.
    unsafe fn pick(columns: *const u32, x: *const Self) -> Self::Quad;
    /// `values * x + sum`, rounded once.
    unsafe fn multiply_add(values: *const Self, x: Self::Quad, sum: Self::Quad) -> Self::Quad;
    /// The first `count` products, at most four, and zeros.
    unsafe fn products(values: *const Self, x: Self::Quad, count: usize) -> Self::Quad;
    /// The sum of the lanes.
    unsafe fn total(lanes: Self::Quad) -> Self;
    /// The sums of the lanes of each.
    unsafe fn totals(rows: [Self::Quad; 4]) -> [Self; 4];
}

/// The 4 elements starting at index 4 - n mask the first n lanes.
static MASK_32: [i32; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];
/// The same for lanes of 64 bits.
static MASK_64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

/// The element of x in column `at`.
#[inline]
unsafe fn pick<V: Copy>(columns: *const u32, at: usize, x: *const V) -> V {
    // SAFETY: guaranteed by the caller.
    unsafe { *x.add(*columns.add(at) as usize) }
}

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
        let x = |at| unsafe { pick(columns, at, x) };
        _mm256_set_pd(x(3), x(2), x(1), x(0))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn multiply_add_wide(values: __m256d, x: __m256d, sum: __m256d) -> __m256d {
        _mm256_fmadd_pd(values, x, sum)
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
        let x = |at| unsafe { pick(columns, at, x) };
        _mm256_set_ps(x(7), x(6), x(5), x(4), x(3), x(2), x(1), x(0))
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn multiply_add_wide(values: __m256, x: __m256, sum: __m256) -> __m256 {
        _mm256_fmadd_ps(values, x, sum)
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
