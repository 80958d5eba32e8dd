//! How products reach y.

use evenpath_simt::{Float, GlobalMut};

/// `y[row] = alpha * sum + beta * y[row]`; where `beta` is zero, y is not read.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn update<V: Float>(y: GlobalMut<V>, row: usize, alpha: V, sum: V, beta: V) {
    let product = alpha * sum;
    let value = if beta == V::ZERO { product } else { beta.fma(y.load(row), product) };
    y.store(row, value);
}
