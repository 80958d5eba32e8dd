//! Options of a plan of the transposed SpMV.

use super::method::SpmvTransposedMethod;
use crate::op::SpmvOptions;

/// Options of [`DeviceCsr::plan_spmv_transposed`](crate::DeviceCsr::plan_spmv_transposed).
///
/// ```
/// use evenpath::spmv::{SpmvTransposedMethod, SpmvTransposedOptions};
///
/// let options = SpmvTransposedOptions::default().with_method(SpmvTransposedMethod::Copied); // for many products
/// assert_ne!(options.method, SpmvTransposedMethod::Ordered);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpmvTransposedOptions {
    /// The method; by default [`Ordered`](SpmvTransposedMethod::Ordered).
    pub method: SpmvTransposedMethod,
    /// Options of the product with the transpose, for [`Copied`](SpmvTransposedMethod::Copied) on devices
    /// that run kernels. By default its plan chooses by the device; with a given method, GPUs agree to the
    /// last bit.
    pub spmv: SpmvOptions,
}

impl SpmvTransposedOptions {
    /// Sets the method.
    #[must_use]
    pub fn with_method(self, method: SpmvTransposedMethod) -> Self {
        Self { method, ..self }
    }

    /// Sets the options of the product with the copied transpose.
    #[must_use]
    pub fn with_spmv(self, spmv: SpmvOptions) -> Self {
        Self { spmv, ..self }
    }
}
