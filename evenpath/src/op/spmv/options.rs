//! How a plan of SpMV is made.

use super::method::SpmvMethod;

/// How [`DeviceCsr::plan_spmv`](crate::DeviceCsr::plan_spmv) plans.
///
/// With the same options, the same device and the same version of this library, results are the same to the last bit. The
/// plan's own choice depends on the device: the number of its multiprocessors, and the size of its cache. With a given
/// method, all GPUs, real and simulated, agree to the last bit; [`SpmvPlanInfo::options`](crate::spmv::SpmvPlanInfo::options) returns the options that repeat a
/// plan's choice on another GPU.
///
/// ```
/// use evenpath::spmv::{SpmvMethod, SpmvOptions};
/// use evenpath::{Csr, Device};
///
/// assert_eq!(SpmvOptions::default().method, SpmvMethod::Auto);
/// assert_eq!(SpmvOptions::default().with_method("merge-path".parse()?).method, SpmvMethod::MergePath);
///
/// let a = Csr::from_triplets(2, 2, [(0, 1, 2.0), (1, 0, 3.0)])?;
/// let (first, second) = (Device::simulated(Default::default()), Device::simulated(Default::default()));
/// let chosen = first.upload(&a)?.plan_spmv(SpmvOptions::default())?.info()?.options();
/// let plan = second.upload(&a)?.plan_spmv(chosen)?; // the bits of the first
/// assert_eq!(plan.info()?.options(), chosen);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpmvOptions {
    /// The method; by default the plan chooses.
    pub method: SpmvMethod,
    /// True if the plan may keep another form of the matrix where that makes products faster: by its own choice
    /// [`NarrowColumns`](SpmvMethod::NarrowColumns), about 2 bytes per nonzero, [`HotColumns`](SpmvMethod::HotColumns), 4 bytes, or
    /// [`SlicedEll`](SpmvMethod::SlicedEll), 4 bytes and a value, and by [`tune`](crate::spmv::SpmvPlan::tune) any method that
    /// [`copies`](SpmvMethod::copies). On the CPU it keeps the column indices
    /// that consecutive rows share once more: up to about 2 bytes per nonzero. By default it may not.
    pub may_copy: bool,
}

impl SpmvOptions {
    /// Sets the method.
    #[must_use]
    pub fn with_method(self, method: SpmvMethod) -> Self {
        Self { method, ..self }
    }

    /// Sets whether the plan's own choice may keep another form of the matrix.
    #[must_use]
    pub fn with_may_copy(self, may_copy: bool) -> Self {
        Self { may_copy, ..self }
    }
}
