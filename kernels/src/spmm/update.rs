//! How products are added to C.

use evenpath_simt::{parameters, Element, Float, GlobalMut, Stored};

use super::group::Sums;
use super::width::Width;
use crate::factor::Factor;

parameters! {
    /// A dense matrix C that a product is added to, C = αAB + βC.
    pub struct DenseUpdate<T: Stored> {
        /// The elements; read only where `beta` is not zero.
        pub c: GlobalMut<T>,
        /// Factor of the product.
        pub alpha: Factor<<T as Stored>::Compute>,
        /// Factor of what C held.
        pub beta: Factor<<T as Stored>::Compute>,
    }
}

impl<T: Stored> DenseUpdate<T> {
    /// The elements from `start` on.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn skip(self, start: usize) -> Self {
        Self { c: self.c.skip(start), ..self }
    }

    /// What C will hold at `index`: αsum + βC. Where β is zero, C is not read.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub(super) fn combined(self, index: usize, sum: impl Fn() -> T::Compute) -> T {
        let beta = self.beta.get();
        let old = if beta == T::Compute::ZERO { T::ZERO } else { self.c.load(index) };
        combine(self.alpha.get(), sum(), beta, old)
    }

    /// Stores a lane's columns of one row of C.
    #[inline(always)]
    pub(super) fn store_row<W: Width>(self, index: usize, sums: &Sums<T::Compute>) {
        let beta = self.beta.get();
        let old = if beta == T::Compute::ZERO { W::zeros::<T>() } else { W::load_mut(self.c, index) };
        let alpha = self.alpha.get();
        let mut new = W::zeros::<T>();
        for at in 0..W::len::<T>() {
            W::set(&mut new, at, combine(alpha, sums[at], beta, W::get::<T>(old, at)));
        }
        W::store(self.c, index, new);
    }
}

/// αsum + β·old as C holds it; where β is zero, `old` does not matter.
#[inline(always)]
fn combine<T: Stored>(alpha: T::Compute, sum: T::Compute, beta: T::Compute, old: T) -> T {
    let product = alpha * sum;
    T::narrow(if beta == T::Compute::ZERO { product } else { beta.fma(old.widen(), product) })
}
