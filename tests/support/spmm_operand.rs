//! Plans of SpMM by the type of the dense operands.

use evenpath::error::OpError;
use evenpath::spmm::{SpmmOptions, SpmmPlan};
use evenpath::{Compute, DeviceCsr, Offset, RealStorage, bf16, f16};

/// Types of the dense operands of a matrix of values `S`.
pub trait SpmmOperand<S: RealStorage>: RealStorage<Computed = Compute<S>> {
    /// Plans a product with matrices of this type.
    ///
    /// # Errors
    ///
    /// The same as for [`DeviceCsr::plan_spmm`].
    fn plan_spmm<O: Offset>(
        matrix: &DeviceCsr<S, O>,
        options: SpmmOptions,
    ) -> Result<SpmmPlan<S, O, Self>, OpError>;
}

impl<S: RealStorage> SpmmOperand<S> for S {
    fn plan_spmm<O: Offset>(
        matrix: &DeviceCsr<S, O>,
        options: SpmmOptions,
    ) -> Result<SpmmPlan<S, O>, OpError> {
        matrix.plan_spmm(options)
    }
}

macro_rules! mixed {
    ($($half:ident)*) => {$(
        impl SpmmOperand<$half> for f32 {
            fn plan_spmm<O: Offset>(
                matrix: &DeviceCsr<$half, O>,
                options: SpmmOptions,
            ) -> Result<SpmmPlan<$half, O, f32>, OpError> {
                matrix.plan_spmm_mixed(options)
            }
        }
    )*};
}
mixed!(f16 bf16);
