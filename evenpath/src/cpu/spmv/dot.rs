//! The sum of a row's products, with the instructions that the machine has.

use crate::Value;

/// What sums are computed with. It decides how they are rounded, and is the same in every run on a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instructions {
    /// Those of every machine.
    Portable,
    /// AVX2 and FMA: elements of x are gathered by signed 32-bit indices.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Instructions {
    /// The fastest that this machine has, for a vector of so many elements.
    pub(super) fn of_machine(x_len: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        if i32::try_from(x_len).is_ok() && is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
        {
            return Self::Avx2;
        }
        let _ = x_len;
        Self::Portable
    }
}

/// The sum of `values[i] * x[columns[i]]`, in four interleaved partial sums.
///
/// # Safety
/// Every column is below the length of `x`.
#[inline]
pub(super) unsafe fn portable<V: Value>(columns: &[u32], values: &[V], x: &[V]) -> V {
    // SAFETY: the caller's promise.
    let product = |(&column, &value): (&u32, &V)| value * unsafe { *x.get_unchecked(column as usize) };
    let (quads, columns_rest) = columns.as_chunks::<4>();
    let (value_quads, values_rest) = values.as_chunks::<4>();
    let mut sums = [V::ZERO; 4];
    for (columns, values) in quads.iter().zip(value_quads) {
        for (sum, entry) in sums.iter_mut().zip(columns.iter().zip(values)) {
            *sum += product(entry);
        }
    }
    let mut rest = V::ZERO;
    for entry in columns_rest.iter().zip(values_rest) {
        rest += product(entry);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::dot as avx2;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256, __m256d, _mm_add_pd, _mm_add_ps, _mm_add_sd, _mm_add_ss, _mm_cvtsd_f64, _mm_cvtss_f32,
        _mm_loadu_si128, _mm_movehl_ps, _mm_shuffle_ps, _mm_unpackhi_pd, _mm256_add_pd, _mm256_add_ps,
        _mm256_castpd256_pd128, _mm256_castps256_ps128, _mm256_extractf128_pd, _mm256_extractf128_ps,
        _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_i32gather_pd, _mm256_i32gather_ps, _mm256_loadu_pd,
        _mm256_loadu_ps, _mm256_loadu_si256, _mm256_setzero_pd, _mm256_setzero_ps,
    };

    use evenpath_simt::ScalarType;

    use crate::Value;

    /// The sum of `values[i] * x[columns[i]]`, in interleaved partial sums, each product and sum rounded once.
    ///
    /// # Safety
    /// The machine has AVX2 and FMA. There are as many columns as values. Every column is below the length of `x`, and
    /// that is no more than `i32::MAX`.
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    pub(in super::super) unsafe fn dot<V: Value>(columns: &[u32], values: &[V], x: &[V]) -> V {
        // SAFETY: the caller's promises. The casts are from a type to itself.
        unsafe {
            match V::TYPE {
                ScalarType::F32 => {
                    bytemuck::cast(f32s(columns, bytemuck::cast_slice(values), bytemuck::cast_slice(x)))
                }
                _ => bytemuck::cast(f64s(columns, bytemuck::cast_slice(values), bytemuck::cast_slice(x))),
            }
        }
    }

    macro_rules! dot {
        ($name:ident, $type:ty, $lanes:literal, $zero:ident, $load:ident, $columns:ident, $gather:ident, $fma:ident,
         $add:ident, $sum:ident) => {
            /// # Safety
            /// As for [`dot`].
            #[inline]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn $name(columns: &[u32], values: &[$type], x: &[$type]) -> $type {
                const SCALE: i32 = size_of::<$type>() as i32;
                let count = columns.len();
                // SAFETY: callers leave a group's elements from `at`; columns are below the length of x.
                let group = |at: usize, sum| unsafe {
                    let columns = $columns(columns.as_ptr().add(at).cast());
                    let x = $gather::<SCALE>(x.as_ptr(), columns);
                    $fma($load(values.as_ptr().add(at)), x, sum)
                };
                let (mut at, mut total) = (0, 0.0);
                if count >= $lanes {
                    let mut sums = [$zero(); 4];
                    while at + 4 * $lanes <= count {
                        for (step, sum) in sums.iter_mut().enumerate() {
                            *sum = group(at + step * $lanes, *sum);
                        }
                        at += 4 * $lanes;
                    }
                    let mut sum = $add($add(sums[0], sums[1]), $add(sums[2], sums[3]));
                    while at + $lanes <= count {
                        sum = group(at, sum);
                        at += $lanes;
                    }
                    total = $sum(sum);
                }
                for at in at..count {
                    // SAFETY: there are as many columns as values, and columns are below the length of x.
                    let (value, x) = unsafe {
                        (*values.get_unchecked(at), *x.get_unchecked(*columns.get_unchecked(at) as usize))
                    };
                    total = value.mul_add(x, total);
                }
                total
            }
        };
    }

    dot!(
        f32s,
        f32,
        8,
        _mm256_setzero_ps,
        _mm256_loadu_ps,
        _mm256_loadu_si256,
        _mm256_i32gather_ps,
        _mm256_fmadd_ps,
        _mm256_add_ps,
        sum_f32s
    );
    dot!(
        f64s,
        f64,
        4,
        _mm256_setzero_pd,
        _mm256_loadu_pd,
        _mm_loadu_si128,
        _mm256_i32gather_pd,
        _mm256_fmadd_pd,
        _mm256_add_pd,
        sum_f64s
    );

    #[inline]
    #[target_feature(enable = "avx2")]
    fn sum_f32s(lanes: __m256) -> f32 {
        let four = _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps::<1>(lanes));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn sum_f64s(lanes: __m256d) -> f64 {
        let two = _mm_add_pd(_mm256_castpd256_pd128(lanes), _mm256_extractf128_pd::<1>(lanes));
        _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in [-1, 1) that do not repeat soon.
    fn numbers<V: Value>(count: usize) -> Vec<V> {
        (0..count).map(|at| V::from_f64((at as f64 * 0.754_877_666_246_692_7).fract() * 2.0 - 1.0)).collect()
    }

    fn check<V: Value>(epsilon: f64) {
        let x: Vec<V> = numbers(1000);
        for count in (0..140).chain([1000, 1001]) {
            let columns: Vec<u32> = (0..count as u32).map(|at| at * 7919 % 1000).collect();
            let values: Vec<V> = numbers(count);
            let products: Vec<f64> = columns
                .iter()
                .zip(&values)
                .map(|(&column, a)| a.to_f64() * x[column as usize].to_f64())
                .collect();
            let magnitude: f64 = products.iter().map(|product| product.abs()).sum();
            let sum: f64 = products.iter().sum();
            let bound = (count + 1) as f64 * epsilon * magnitude;
            // SAFETY: columns are below 1000.
            let portable = unsafe { portable(&columns, &values, &x) }.to_f64();
            assert!((portable - sum).abs() <= bound, "{count} of {}: {portable}, not {sum}", V::NAME);
            #[cfg(target_arch = "x86_64")]
            if Instructions::of_machine(x.len()) == Instructions::Avx2 {
                // SAFETY: as above, and the machine has the instructions.
                let avx2 = unsafe { avx2(&columns, &values, &x) }.to_f64();
                assert!((avx2 - sum).abs() <= bound, "{count} of {}: {avx2}, not {sum}", V::NAME);
            }
        }
    }

    #[test]
    fn every_length_is_summed() {
        check::<f32>(f64::from(f32::EPSILON));
        check::<f64>(f64::EPSILON);
    }

    #[test]
    fn vectors_beyond_signed_indices_are_portable() {
        assert_eq!(Instructions::of_machine(1 << 31), Instructions::Portable);
    }
}
