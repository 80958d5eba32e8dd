//! Sums with the vector instructions of x86-64: a register holds neighboring columns, and a row's sums stay in registers.

use std::arch::x86_64::{
    __m256, __m256d, __m512, __m512d, _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_loadu_pd, _mm256_loadu_ps,
    _mm256_loadu_si256, _mm256_maskload_pd, _mm256_maskload_ps, _mm256_maskstore_pd, _mm256_maskstore_ps,
    _mm256_mul_pd, _mm256_mul_ps, _mm256_set1_pd, _mm256_set1_ps, _mm256_setzero_pd, _mm256_setzero_ps,
    _mm256_storeu_pd, _mm256_storeu_ps, _mm512_fmadd_pd, _mm512_fmadd_ps, _mm512_loadu_pd, _mm512_loadu_ps,
    _mm512_mask_storeu_pd, _mm512_mask_storeu_ps, _mm512_maskz_loadu_pd, _mm512_maskz_loadu_ps,
    _mm512_mul_pd, _mm512_mul_ps, _mm512_set1_pd, _mm512_set1_ps, _mm512_setzero_pd, _mm512_setzero_ps,
    _mm512_storeu_pd, _mm512_storeu_ps,
};

use evenpath_simt::{ScalarType, WidenTo, Words};

use super::halves::{narrow_f16, narrow_halves, widen_f16, widen_halves};
use super::sums::{PortableSums, RowOfA, SumInstructions};
use crate::{Compute, Scalar, Storage, Value, f16};

/// AVX2, FMA and F16C.
pub(super) struct Avx2Sums;

/// The same, and AVX-512 F.
pub(super) struct Avx512Sums;

/// Registers of an instruction set, by type.
pub(super) trait Registers {
    type F32: Register<Element = f32>;
    type F64: Register<Element = f64>;
}

impl Registers for Avx2Sums {
    type F32 = __m256;
    type F64 = __m256d;
}

impl Registers for Avx512Sums {
    type F32 = __m512;
    type F64 = __m512d;
}

impl<I: Registers> SumInstructions for I {
    const IS_FUSED: bool = true;

    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn sum<S: WidenTo<C>, C: Scalar>(
        row: RowOfA<'_, S>,
        alpha: C,
        b: &[C],
        stride: usize,
        sums: &mut [C],
    ) {
        use bytemuck::{cast, cast_slice, cast_slice_mut};

        // SAFETY: guaranteed by the caller.
        unsafe {
            match C::TYPE {
                ScalarType::F32 => {
                    sum::<I, I::F32, S, C>(row, cast(alpha), cast_slice(b), stride, cast_slice_mut(sums));
                }
                ScalarType::F64 => {
                    sum::<I, I::F64, S, C>(row, cast(alpha), cast_slice(b), stride, cast_slice_mut(sums));
                }
                // Complex numbers, for which the compiler uses the instructions.
                _ => PortableSums::sum::<S, C>(row, alpha, b, stride, sums),
            }
        }
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn widen<S: WidenTo<C>, C: Scalar>(value: S) -> C {
        if (S::TYPE, C::TYPE) != (ScalarType::F16, ScalarType::F32) {
            return value.widen_to();
        }
        // SAFETY: guaranteed by the caller.
        bytemuck::cast(unsafe { widen_f16(f16::from_bits(value.to_bits().word(0) as u16)) })
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn narrow<T: Storage>(value: Compute<T>) -> T {
        if T::TYPE != ScalarType::F16 {
            return T::narrow(value);
        }
        // SAFETY: guaranteed by the caller.
        bytemuck::cast(unsafe { narrow_f16(bytemuck::cast(value)) })
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn widen_all<T: Storage>(values: &[T], wide: &mut [Compute<T>]) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if T::TYPE == ScalarType::F16 {
                widen_halves(bytemuck::cast_slice(values), bytemuck::cast_slice_mut(wide));
            } else {
                PortableSums::widen_all(values, wide);
            }
        }
    }

    #[allow(clippy::inline_always)]
    #[inline(always)]
    unsafe fn narrow_all<T: Storage>(wide: &[Compute<T>], values: &mut [T]) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if T::TYPE == ScalarType::F16 {
                narrow_halves(bytemuck::cast_slice(wide), bytemuck::cast_slice_mut(values));
            } else {
                PortableSums::narrow_all(wide, values);
            }
        }
    }
}

/// Maximum number of registers for sums: there are 16, and each product needs some.
const REGISTERS: usize = 8;

/// Computes all sums of a row: as many registers as possible at once, then half as many and so on, and the
/// last lanes with a mask.
///
/// # Safety
/// The same as for [`SumInstructions::sum`]; elements are of type `C`.
#[allow(clippy::inline_always)]
#[inline(always)]
unsafe fn sum<I: SumInstructions, R: Register, S: WidenTo<C>, C: Scalar>(
    row: RowOfA<'_, S>,
    alpha: R::Element,
    b: &[R::Element],
    stride: usize,
    sums: &mut [R::Element],
) {
    let mut at = 0;
    // SAFETY: guaranteed by the caller: the columns starting at `at` are fewer than there are sums.
    unsafe {
        let b = b.as_ptr();
        while sums.len() - at >= R::LANES {
            let left = sums.len() - at;
            let (b, sums, registers) = (b.add(at), &mut sums[at..], left / R::LANES);
            at += R::LANES
                * match registers {
                    REGISTERS.. => sum_registers::<I, R, S, C, REGISTERS>(row, alpha, b, stride, sums),
                    4.. => sum_registers::<I, R, S, C, 4>(row, alpha, b, stride, sums),
                    2.. => sum_registers::<I, R, S, C, 2>(row, alpha, b, stride, sums),
                    _ => sum_registers::<I, R, S, C, 1>(row, alpha, b, stride, sums),
                };
        }
        if at < sums.len() {
            let (b, count) = (b.add(at), sums.len() - at);
            let mut sum = R::zero();
            for (&column, value) in row.columns.iter().zip(row.values) {
                let b = R::load_first(count, b.add(column as usize * stride));
                sum = R::multiply_add(R::splat(bytemuck::cast::<C, R::Element>(I::widen(*value))), b, sum);
            }
            R::multiply(R::splat(alpha), sum).store_first(count, sums[at..].as_mut_ptr());
        }
    }
}

/// Computes the first `N` registers of sums. Returns `N`.
///
/// # Safety
/// The same as above, and there are that many sums.
#[allow(clippy::inline_always)]
#[inline(always)]
unsafe fn sum_registers<I: SumInstructions, R: Register, S: WidenTo<C>, C: Scalar, const N: usize>(
    row: RowOfA<'_, S>,
    alpha: R::Element,
    b: *const R::Element,
    stride: usize,
    target: &mut [R::Element],
) -> usize {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let mut sums = [R::zero(); N];
        for (&column, value) in row.columns.iter().zip(row.values) {
            let value = R::splat(bytemuck::cast::<C, R::Element>(I::widen(*value)));
            let b = b.add(column as usize * stride);
            for (at, sum) in sums.iter_mut().enumerate() {
                *sum = R::multiply_add(value, R::load(b.add(at * R::LANES)), *sum);
            }
        }
        let alpha = R::splat(alpha);
        for (at, sum) in sums.into_iter().enumerate() {
            R::multiply(alpha, sum).store(target.as_mut_ptr().add(at * R::LANES));
        }
    }
    N
}

/// A vector register.
///
/// # Safety of the functions
/// The machine has the instructions. Pointers are to as many elements as are moved.
pub(super) trait Register: Copy {
    /// Type of the elements.
    type Element: Value;

    /// Number of elements.
    const LANES: usize;

    unsafe fn zero() -> Self;
    unsafe fn splat(value: Self::Element) -> Self;
    unsafe fn load(from: *const Self::Element) -> Self;
    /// Loads the first `count` elements, and zeros.
    unsafe fn load_first(count: usize, from: *const Self::Element) -> Self;
    unsafe fn store(self, to: *mut Self::Element);
    /// Stores the first `count` elements.
    unsafe fn store_first(self, count: usize, to: *mut Self::Element);
    unsafe fn multiply(a: Self, b: Self) -> Self;
    /// `a * b + sum`, rounded once.
    unsafe fn multiply_add(a: Self, b: Self, sum: Self) -> Self;
}

/// The 8 elements starting at index 8 - n mask the first n lanes.
static MASK_32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
/// The 4 elements starting at index 4 - n mask the first n lanes.
static MASK_64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

/// Mask of the first `count` lanes of a register of 256 bits.
macro_rules! mask_256 {
    ($table:ident, $count:ident) => {
        _mm256_loadu_si256($table.as_ptr().add($table.len() / 2 - $count).cast())
    };
}

/// Mask of the first `count` lanes of a register of 512 bits, fewer than all.
macro_rules! mask_512 {
    ($bits:ty, $count:ident) => {
        ((1 << $count) - 1) as $bits
    };
}

macro_rules! register {
    (
        $register:ident, $element:ident, $lanes:literal, $features:literal, $zero:ident, $splat:ident, $load:ident, $store:ident,
        $multiply:ident, $fma:ident, $count:ident, |$from:ident| $load_first:expr, |$sum:ident, $to:ident| $store_first:expr
    ) => {
        impl Register for $register {
            type Element = $element;
            const LANES: usize = $lanes;

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn zero() -> Self {
                $zero()
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn splat(value: $element) -> Self {
                $splat(value)
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn load(from: *const $element) -> Self {
                // SAFETY: guaranteed by the caller.
                unsafe { $load(from) }
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn load_first($count: usize, $from: *const $element) -> Self {
                // SAFETY: guaranteed by the caller; the mask is in its table.
                unsafe { $load_first }
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn store(self, to: *mut $element) {
                // SAFETY: guaranteed by the caller.
                unsafe { $store(to, self) }
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn store_first(self, $count: usize, $to: *mut $element) {
                let $sum = self;
                // SAFETY: guaranteed by the caller; the mask is in its table.
                unsafe { $store_first }
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn multiply(a: Self, b: Self) -> Self {
                $multiply(a, b)
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn multiply_add(a: Self, b: Self, sum: Self) -> Self {
                $fma(a, b, sum)
            }
        }
    };
}

register!(
    __m256d,
    f64,
    4,
    "avx2,fma",
    _mm256_setzero_pd,
    _mm256_set1_pd,
    _mm256_loadu_pd,
    _mm256_storeu_pd,
    _mm256_mul_pd,
    _mm256_fmadd_pd,
    count,
    |from| _mm256_maskload_pd(from, mask_256!(MASK_64, count)),
    |sum, to| _mm256_maskstore_pd(to, mask_256!(MASK_64, count), sum)
);
register!(
    __m256,
    f32,
    8,
    "avx2,fma",
    _mm256_setzero_ps,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_mul_ps,
    _mm256_fmadd_ps,
    count,
    |from| _mm256_maskload_ps(from, mask_256!(MASK_32, count)),
    |sum, to| _mm256_maskstore_ps(to, mask_256!(MASK_32, count), sum)
);
register!(
    __m512d,
    f64,
    8,
    "avx512f",
    _mm512_setzero_pd,
    _mm512_set1_pd,
    _mm512_loadu_pd,
    _mm512_storeu_pd,
    _mm512_mul_pd,
    _mm512_fmadd_pd,
    count,
    |from| _mm512_maskz_loadu_pd(mask_512!(u8, count), from),
    |sum, to| _mm512_mask_storeu_pd(to, mask_512!(u8, count), sum)
);
register!(
    __m512,
    f32,
    16,
    "avx512f",
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_mul_ps,
    _mm512_fmadd_ps,
    count,
    |from| _mm512_maskz_loadu_ps(mask_512!(u16, count), from),
    |sum, to| _mm512_mask_storeu_ps(to, mask_512!(u16, count), sum)
);
