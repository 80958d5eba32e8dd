//! A product that is added to a vector.

use evenpath_simt::atomic::{Ordering, Scope};
use evenpath_simt::{device, parameters, Global, GlobalMut};

use crate::spmv::AtomicFloat;

parameters! {
    /// A product that is added to y.
    pub struct AddProducts<V: AtomicFloat> {
        /// The dense vector.
        pub x: Global<V>,
        /// The vector that products are added to.
        pub y: GlobalMut<V>,
        /// Factor of the tree's values.
        pub scale: V,
        /// Factor of the product.
        pub alpha: V,
        /// 1 for the transpose of the tree's content, else 0.
        pub transposed: u32,
    }
}

impl<V: AtomicFloat> AddProducts<V> {
    /// Adds a sum of products to the element of y at `base` plus a local index.
    #[device(track_caller)]
    pub(super) fn add(self, base: u32, index: u32, sum: V) {
        let product = self.alpha * (self.scale * sum);
        self.y.fetch_add((base + index) as usize, product, Ordering::Relaxed, Scope::Device);
    }
}
