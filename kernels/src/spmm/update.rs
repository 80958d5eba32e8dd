//! Addition of products to C.

use evenpath_simt::{device, parameters, Aligned16, Arithmetic, Element, GlobalMut, Stored};

use super::group::LaneSums;
use super::width::Width;

parameters! {
    /// A dense matrix C that a product is added to, C = αAB + βC.
    pub struct DenseUpdate<T: Stored> {
        /// The elements; read only where `beta` is not zero.
        pub c: GlobalMut<T, Aligned16>,
        /// Factor of the product.
        pub alpha: <T as Stored>::Compute,
        /// Factor of what C held.
        pub beta: <T as Stored>::Compute,
    }
}

impl<T: Stored> DenseUpdate<T> {
    /// Returns the elements starting at `start`.
    #[device(track_caller)]
    pub(super) fn skip(self, start: usize) -> Self {
        Self { c: self.c.skip_aligned(start), ..self }
    }

    /// Returns the element of C at `index`. If `beta` is zero, it is zero and C is not read.
    #[device(track_caller)]
    pub(super) fn load(self, index: usize) -> T {
        if self.beta == T::Compute::ZERO {
            T::ZERO
        } else {
            self.c.load(index)
        }
    }

    /// αsum + β·old as C holds it; where β is zero, `old` does not matter.
    #[device]
    pub(super) fn combine(self, sum: T::Compute, old: T) -> T {
        let product = self.alpha * sum;
        T::narrow(if self.beta == T::Compute::ZERO { product } else { self.beta.fma(old.widen(), product) })
    }

    /// Stores a lane's columns of one row of C.
    #[device]
    pub(super) fn store_row<W: Width>(self, index: usize, sums: &LaneSums<T::Compute>) {
        let old = if self.beta == T::Compute::ZERO { W::zeros::<T>() } else { W::load_mut(self.c, index) };
        let mut new = W::zeros::<T>();
        for at in 0..W::len::<T>() {
            W::set(&mut new, at, self.combine(sums[at], W::get::<T>(old, at)));
        }
        W::store(self.c, index, new);
    }
}
