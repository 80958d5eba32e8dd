//! Dense vectors, in chunks that are the same on every machine.

use std::ops::Range;

use evenpath_kernels::fold::{Extreme, NO_KEY};
use evenpath_kernels::map::{Mapping, code};
use evenpath_kernels::norm::Magnitude;

use crate::{Scalar, Value, parallel};

/// Elements per task.
const CHUNK: usize = 1 << 14;

/// Computes `y = alpha x + beta y`. If `beta` is 0, `y` is overwritten without being read.
pub(crate) fn axpby<V: Scalar>(alpha: V, x: &[V], beta: V, y: &mut [V]) {
    parallel::parts_mut(y, CHUNK, |range, y| {
        for (y, &x) in y.iter_mut().zip(&x[range]) {
            *y = if beta == V::ZERO { alpha * x } else { alpha * x + beta * *y };
        }
    });
}

/// Computes the element-wise product `z = x y`.
pub(crate) fn multiply_elements<V: Scalar>(x: &[V], y: &[V], z: &mut [V]) {
    combine_elements(x, y, z, |x, y| x * y);
}

/// Computes the element-wise quotient `z = x / y`.
pub(crate) fn divide_elements<V: Value>(x: &[V], y: &[V], z: &mut [V]) {
    combine_elements(x, y, z, |x, y| x / y);
}

fn combine_elements<V: Scalar>(x: &[V], y: &[V], z: &mut [V], combine: impl Fn(V, V) -> V + Sync) {
    parallel::parts_mut(z, CHUNK, |range, z| {
        let operands = x[range.clone()].iter().zip(&y[range]);
        z.iter_mut().zip(operands).for_each(|(z, (&x, &y))| *z = combine(x, y));
    });
}

/// Replaces each element of `y` by a function of those of `x` and `y`.
pub(crate) fn update_elements<V: Scalar>(x: &[V], y: &mut [V], update: impl Fn(V, V) -> V + Sync) {
    parallel::parts_mut(y, CHUNK, |range, y| {
        y.iter_mut().zip(&x[range]).for_each(|(y, &x)| *y = update(x, *y));
    });
}

/// Computes the Euclidean norm by an inner product of the vector or, if its squares overflow or underflow, of
/// the vector times a power of two.
pub(crate) fn norm2<V: Value>(x: &[V]) -> V {
    let plain = dot(x, x);
    let scaled_norm = |(scale, inverse): (V, V)| {
        let square = |sum, &x: &V| sum + (scale * x) * (scale * x);
        let part = |range: Range<usize>| x[range].iter().fold(V::ZERO, square);
        parallel::reduce(x.len(), CHUNK, V::ZERO, part, |sum, part| sum + part).sqrt() * inverse
    };
    match Magnitude::of(plain) {
        Magnitude::Ordinary => plain.sqrt(),
        Magnitude::Large => scaled_norm(V::LARGE),
        Magnitude::Small => scaled_norm(V::SMALL),
    }
}

/// The inner product. Chunks are summed in order, so that rounding is the same in every run.
pub(crate) fn dot<V: Scalar>(x: &[V], y: &[V]) -> V {
    let part = |range: Range<usize>| {
        x[range.clone()].iter().zip(&y[range]).fold(V::ZERO, |sum, (&x, &y)| sum + x * y)
    };
    parallel::reduce(x.len(), CHUNK, V::ZERO, part, |sum, part| sum + part)
}

/// The inner product of the conjugate of `x` and `y`, in the order of [`dot`].
pub(crate) fn dot_conjugated<V: Scalar>(x: &[V], y: &[V]) -> V {
    let part = |range: Range<usize>| {
        x[range.clone()].iter().zip(&y[range]).fold(V::ZERO, |sum, (&x, &y)| sum + x.conj() * y)
    };
    parallel::reduce(x.len(), CHUNK, V::ZERO, part, |sum, part| sum + part)
}

/// Writes a function of each element of `x` to `y`.
pub(crate) fn convert_elements<S: Copy + Sync, T: Send>(
    x: &[S],
    y: &mut [T],
    convert: impl Fn(S) -> T + Sync,
) {
    parallel::parts_mut(y, CHUNK, |range, y| {
        y.iter_mut().zip(&x[range]).for_each(|(y, &x)| *y = convert(x));
    });
}

/// The sum of `d[i] r[i] r[i]`, in the order of [`dot`].
pub(crate) fn scaled_square<V: Value>(d: &[V], r: &[V]) -> V {
    let part = |range: Range<usize>| {
        d[range.clone()].iter().zip(&r[range]).fold(V::ZERO, |sum, (&d, &r)| sum + (d * r) * r)
    };
    parallel::reduce(r.len(), CHUNK, V::ZERO, part, |sum, part| sum + part)
}

/// Computes `y = d x + beta y`, where `d x` is the elementwise product.
pub(crate) fn add_product<V: Value>(d: &[V], x: &[V], beta: V, y: &mut [V]) {
    parallel::parts_mut(y, CHUNK, |range, y| {
        let operands = d[range.clone()].iter().zip(&x[range]);
        y.iter_mut().zip(operands).for_each(|(y, (&d, &x))| *y = d * x + beta * *y);
    });
}

/// The inner products of `x` and a function of the first columns of a matrix whose element (i, j) is `matrix[rows * i + cols * j]`.
pub(crate) fn column_dots<V: Scalar>(
    matrix: &[V],
    (rows, cols): (usize, usize),
    function: impl Fn(V) -> V + Sync,
    x: &[V],
    result: &mut [V],
) {
    for (col, result) in result.iter_mut().enumerate() {
        let part = |range: Range<usize>| {
            range.fold(V::ZERO, |sum, row| sum + function(matrix[rows * row + cols * col]) * x[row])
        };
        *result = parallel::reduce(x.len(), CHUNK, V::ZERO, part, |sum, part| sum + part);
    }
}

/// Adds `alpha` times a combination of the first columns of such a matrix to `y`.
pub(crate) fn add_columns<V: Scalar>(
    alpha: V,
    matrix: &[V],
    (rows, cols): (usize, usize),
    coefficients: &[V],
    y: &mut [V],
) {
    parallel::parts_mut(y, CHUNK, |range, y| {
        for (row, y) in range.zip(y) {
            let terms = coefficients.iter().enumerate();
            let sum = terms.fold(V::ZERO, |sum, (col, &h)| sum + matrix[rows * row + cols * col] * h);
            *y = alpha * sum + *y;
        }
    });
}

/// Returns 0, 1, 2, … `len` − 1.
pub(crate) fn iota(len: u32) -> Vec<u32> {
    parallel::map(len as usize, CHUNK, |index| index as u32)
}

/// Computes `y = alpha sum + beta y`. If `beta` is 0, `y` is overwritten without being read.
#[inline]
pub(super) fn update<V: Value>(y: &mut V, alpha: V, sum: V, beta: V) {
    let product = alpha * sum;
    *y = if beta == V::ZERO { product } else { product + beta * *y };
}

/// Adds up sums by halves, like the lanes of a warp. Their number is a power of two.
#[allow(clippy::inline_always)] // needs the caller's instructions
#[inline(always)]
pub(super) fn sum_by_halves<V: Scalar>(sums: &mut [V]) -> V {
    combine_by_halves(sums, |a, b| a + b)
}

/// Combines values by halves: the first half with the second, then the first quarter with the second, and so on. Their number is a power of
/// two.
#[allow(clippy::inline_always)] // needs the caller's instructions
#[inline(always)]
pub(super) fn combine_by_halves<T: Copy>(values: &mut [T], combine: impl Fn(T, T) -> T) -> T {
    let mut half = values.len() / 2;
    while half > 0 {
        for lane in 0..half {
            values[lane] = combine(values[lane], values[lane + half]);
        }
        half /= 2;
    }
    values[0]
}

/// Copies the elements at some positions.
pub(crate) fn copy_at<T: Copy + Send + Sync>(source: &[T], positions: &[u32], result: &mut [T]) {
    parallel::parts_mut(result, CHUNK, |range, result| {
        for (result, &position) in result.iter_mut().zip(&positions[range]) {
            *result = source[position as usize];
        }
    });
}

/// Replaces each element by a function of it.
pub(crate) fn map<V: Value>(mapping: Mapping<V>, y: &mut [V]) {
    if mapping.code == code::POWER {
        let exponent = mapping.first;
        parallel::parts_mut(y, CHUNK, |_, y| y.iter_mut().for_each(|y| *y = y.power(exponent)));
        return;
    }
    parallel::parts_mut(y, CHUNK, |_, y| y.iter_mut().for_each(|y| *y = mapping.apply(*y)));
}

/// The sum of a function of each element, in the order of [`dot`].
pub(crate) fn sum<V: Value>(x: &[V], term: impl Fn(V) -> V + Sync) -> V {
    let part = |range: Range<usize>| x[range].iter().fold(V::ZERO, |sum, &x| sum + term(x));
    parallel::reduce(x.len(), CHUNK, V::ZERO, part, |sum, part| sum + part)
}

/// The extreme element, and its index unless it is of absolute values; 2⁶⁴ − 1 if there is none.
pub(crate) fn extreme<V: Value>(extreme: Extreme, x: &[V]) -> (V, u64) {
    let part = |range: Range<usize>| {
        range.fold((NO_KEY, u64::MAX), |best, index| {
            let key = extreme.key(x[index]);
            if key < best.0 { (key, index as u64) } else { best }
        })
    };
    let (key, index) = parallel::reduce(x.len(), CHUNK, (NO_KEY, u64::MAX), part, Ord::min);
    (extreme.value(key), index)
}
