//! The sum of the products of a row, with instructions that every machine has.

use evenpath_simt::WidenTo;

use crate::Scalar;

/// Sum of `values[i] * x[columns[i]]` in the type of x, in four interleaved partial sums.
///
/// # Safety
/// Every column is below the length of `x`.
// Inlined into functions that enable instructions, so that it is compiled with them.
#[allow(clippy::inline_always)]
#[inline(always)]
pub(super) unsafe fn sum<S: WidenTo<V>, V: Scalar>(columns: &[u32], values: &[S], x: &[V]) -> V {
    // SAFETY: guaranteed by the caller.
    let product =
        |(&column, &value): (&u32, &S)| value.widen_to() * unsafe { *x.get_unchecked(column as usize) };
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
    use super::*;

    #[test]
    fn every_length_is_summed() {
        let x: Vec<f64> = (0..10).map(f64::from).collect();
        for count in 0..40 {
            let columns: Vec<u32> = (0..count).map(|at| at * 7 % 10).collect();
            let values: Vec<f64> = (0..count).map(|at| f64::from(at) - 3.0).collect();
            // Whole numbers: no rounding.
            let expected: f64 =
                columns.iter().zip(&values).map(|(&column, value)| f64::from(column) * value).sum();
            // SAFETY: columns are below 10.
            let found = unsafe { sum(&columns, &values, &x) };
            assert!((found - expected).abs() < 0.5, "{count}: {found}, not {expected}");
        }
    }
}
