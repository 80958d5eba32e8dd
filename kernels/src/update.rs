//! Addition of products to y.

use evenpath_simt::{device, parameters, Arithmetic, GlobalMut};

parameters! {
    /// A dense vector y, or the elements of a dense matrix, that a product is added to: y = αAx + βy.
    pub struct Update<V: Arithmetic> {
        /// The vector; read only where `beta` is not zero.
        pub y: GlobalMut<V>,
        /// Factor of the product.
        pub alpha: V,
        /// Factor of the previous y.
        pub beta: V,
    }
}

impl<V: Arithmetic> Update<V> {
    /// `y[row] = alpha * sum + beta * y[row]`; where `beta` is zero, y is not read.
    #[device(track_caller)]
    pub fn store(self, row: usize, sum: V) {
        let Self { y, alpha, beta } = self;
        let product = alpha * sum;
        let value = if beta == V::ZERO { product } else { beta.fma(y.load(row), product) };
        y.store(row, value);
    }
}
