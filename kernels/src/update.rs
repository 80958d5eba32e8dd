//! How products are added to y.

use evenpath_simt::{parameters, Float, GlobalMut};

parameters! {
    /// A dense vector y that a product is added to, y = αAx + βy.
    pub struct Update<V: Float> {
        /// The vector; read only where `beta` is not zero.
        pub y: GlobalMut<V>,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of what y held.
        pub beta: V,
    }
}

impl<V: Float> Update<V> {
    /// `y[row] = alpha * sum + beta * y[row]`; where `beta` is zero, y is not read.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn store(self, row: usize, sum: V) {
        update(self.y, row, self.alpha, sum, self.beta);
    }
}

/// `y[row] = alpha * sum + beta * y[row]`; where `beta` is zero, y is not read.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub fn update<V: Float>(y: GlobalMut<V>, row: usize, alpha: V, sum: V, beta: V) {
    let product = alpha * sum;
    let value = if beta == V::ZERO { product } else { beta.fma(y.load(row), product) };
    y.store(row, value);
}
