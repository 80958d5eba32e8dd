//! Dense vectors, in chunks that are the same on every machine.

use evenpath_kernels::norm::Magnitude;
use rayon::prelude::*;

use crate::Value;

/// Elements per task.
const CHUNK: usize = 1 << 14;

/// Computes `y = alpha x + beta y`. If `beta` is 0, `y` is overwritten without being read.
pub(crate) fn axpby<V: Value>(alpha: V, x: &[V], beta: V, y: &mut [V]) {
    y.par_iter_mut().zip(x).with_min_len(CHUNK).for_each(|(y, &x)| {
        *y = if beta == V::ZERO { alpha * x } else { alpha * x + beta * *y };
    });
}

/// Computes the element-wise product `z = x y`.
pub(crate) fn multiply_elements<V: Value>(x: &[V], y: &[V], z: &mut [V]) {
    z.par_iter_mut().zip(x).zip(y).with_min_len(CHUNK).for_each(|((z, &x), &y)| *z = x * y);
}

/// Computes the element-wise quotient `z = x / y`.
pub(crate) fn divide_elements<V: Value>(x: &[V], y: &[V], z: &mut [V]) {
    z.par_iter_mut().zip(x).zip(y).with_min_len(CHUNK).for_each(|((z, &x), &y)| *z = x / y);
}

/// Computes the Euclidean norm by an inner product of the vector or, if its squares overflow or underflow, of
/// the vector times a power of two.
pub(crate) fn norm2<V: Value>(x: &[V]) -> V {
    let plain = dot(x, x);
    let scaled_norm = |(scale, inverse): (V, V)| {
        let square = |sum, &x: &V| sum + (scale * x) * (scale * x);
        let sums: Vec<V> = x.par_chunks(CHUNK).map(|x| x.iter().fold(V::ZERO, square)).collect();
        sums.into_iter().fold(V::ZERO, |sum, part| sum + part).sqrt() * inverse
    };
    match Magnitude::of(plain) {
        Magnitude::Ordinary => plain.sqrt(),
        Magnitude::Large => scaled_norm(V::LARGE),
        Magnitude::Small => scaled_norm(V::SMALL),
    }
}

/// The inner product. Chunks are summed in order, so that rounding is the same in every run.
pub(crate) fn dot<V: Value>(x: &[V], y: &[V]) -> V {
    let chunk = |(x, y): (&[V], &[V])| x.iter().zip(y).fold(V::ZERO, |sum, (&x, &y)| sum + x * y);
    let sums: Vec<V> = x.par_chunks(CHUNK).zip(y.par_chunks(CHUNK)).map(chunk).collect();
    sums.into_iter().fold(V::ZERO, |sum, part| sum + part)
}
