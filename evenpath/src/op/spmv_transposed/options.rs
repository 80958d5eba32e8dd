//! How a plan of the transposed SpMV is made.

use super::method::SpmvTransposedMethod;
use crate::op::SpmvOptions;

/// How [`DeviceCsr::plan_spmv_transposed`](crate::DeviceCsr::plan_spmv_transposed) plans.
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
    /// With [`Copied`](SpmvTransposedMethod::Copied), how the transpose is multiplied, on devices that run kernels. By
    /// default its plan chooses, by the device; with a method that is given, GPUs agree to the last bit.
    pub spmv: SpmvOptions,
}

impl SpmvTransposedOptions {
    /// The same with another method.
    #[must_use]
    pub fn with_method(self, method: SpmvTransposedMethod) -> Self {
        Self { method, ..self }
    }

    /// The same with options for the product with the copied transpose.
    #[must_use]
    pub fn with_spmv(self, spmv: SpmvOptions) -> Self {
        Self { spmv, ..self }
    }
}
