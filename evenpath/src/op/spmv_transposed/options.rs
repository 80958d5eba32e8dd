//! Options of a plan of the transposed SpMV.

use super::method::SpmvTransposedMethod;
use crate::op::SpmvOptions;

/// Options of [`DeviceCsr::plan_spmv_transposed`](crate::DeviceCsr::plan_spmv_transposed).
///
/// ```
/// use evenpath::spmv::{SpmvTransposedMethod, SpmvTransposedOptions};
/// use evenpath::{Csr, Device};
///
/// let device = Device::best()?;
/// let a = device.upload(&Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 1, 3.0)])?)?;
/// let for_many_products = SpmvTransposedOptions::default().with_method(SpmvTransposedMethod::Copied);
/// let (x, mut y) = (device.upload(&[1.0, 1.0])?, device.zeros(2)?);
/// a.plan_spmv_transposed(for_many_products)?.run(1.0, &x, 0.0, &mut y)?;
/// assert_eq!(y.download()?, [0.0, 5.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
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
