//! The sum of the products of a row, with the machine's vector instructions.

use crate::Value;

/// The instructions that compute sums. They determine the rounding, and are the same in every run on a
/// machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Instructions {
    /// Instructions that every machine has.
    Portable,
    /// AVX2 and FMA: elements of x are gathered by signed 32-bit indices.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 F and VL for f64; AVX2 for f32.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Instructions {
    /// Those that this machine has and that suit a vector of this length; the fastest last.
    pub(super) fn of_machine(x_len: usize) -> Vec<Self> {
        let mut usable = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        if i32::try_from(x_len).is_ok() {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                usable.push(Self::Avx2);
            }
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl") {
                usable.push(Self::Avx512);
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = x_len;
        usable
    }

    /// The fastest of them.
    pub(super) fn fastest(x_len: usize) -> Self {
        Self::of_machine(x_len).pop().unwrap_or(Self::Portable)
    }
}

/// The sum of `values[i] * x[columns[i]]`, in four interleaved partial sums.
///
/// # Safety
/// Every column is below the length of `x`.
#[inline]
pub(super) unsafe fn portable<V: Value>(columns: &[u32], values: &[V], x: &[V]) -> V {
    // SAFETY: guaranteed by the caller.
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

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "x86_64")]
    use super::super::x86;
    use super::*;

    /// Numbers in [-1, 1) with a long period.
    fn numbers<V: Value>(count: usize) -> Vec<V> {
        (0..count).map(|at| V::from_f64((at as f64 * 0.754_877_666_246_692_7).fract() * 2.0 - 1.0)).collect()
    }

    fn check<V: Value>(epsilon: f64) {
        let x: Vec<V> = numbers(1000);
        // Miri is slow.
        let some = || (0..140).step_by(9).collect();
        let all = || (0..140).chain([1000, 1001]).collect();
        let counts: Vec<usize> = if cfg!(miri) { some() } else { all() };
        for count in counts {
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
            for instructions in Instructions::of_machine(x.len()) {
                // SAFETY: columns are below 1000, and the machine has the instructions.
                let actual = unsafe {
                    match instructions {
                        Instructions::Portable => portable(&columns, &values, &x),
                        #[cfg(target_arch = "x86_64")]
                        Instructions::Avx2 => x86::avx2(&columns, &values, &x),
                        #[cfg(target_arch = "x86_64")]
                        Instructions::Avx512 => x86::avx512(&columns, &values, &x),
                    }
                };
                let off = (actual.to_f64() - sum).abs();
                assert!(off <= bound, "{count} of {} by {instructions:?}: {actual}, not {sum}", V::NAME);
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
        assert_eq!(Instructions::of_machine(1 << 31), [Instructions::Portable]);
    }
}
