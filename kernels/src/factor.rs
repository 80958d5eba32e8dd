//! Factors that the host knows, or that device memory holds.

use evenpath_simt::{device, parameters, Arithmetic, Global};

parameters! {
    /// A factor such as α or β: `value` times `power`², times an element in device memory if there is one.
    pub struct Factor<V: Arithmetic> {
        /// Factor known to the host.
        pub value: V,
        /// One element, or a view of none at address zero.
        pub stored: Global<V>,
        /// Power of two: 1 unless `value` times its square is out of range. The product with the element may still be
        /// in range.
        pub power: V,
    }
}

impl<V: Arithmetic> Factor<V> {
    /// Returns the factor. It is read and multiplied by each call, so kernels call this where they use it.
    #[device(track_caller)]
    pub fn get(self) -> V {
        self.value.times_element_at(self.stored.address()) * self.power * self.power
    }
}
