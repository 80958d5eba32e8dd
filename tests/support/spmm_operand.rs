//! Plans of SpMM by the type of the dense operands.

use evenpath::error::OpError;
use evenpath::spmm::{SpmmOptions, SpmmPlan};
use evenpath::{DeviceCsr, Multiplies, Offset, RealStorage, bf16, f16};

/// Types of the dense operands of a matrix of values `S`.
pub trait SpmmOperand<S: RealStorage + Multiplies<Self>>: RealStorage<Computed: RealStorage> {
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

impl<S: RealStorage<Computed: RealStorage>> SpmmOperand<S> for S {
    fn plan_spmm<O: Offset>(
        matrix: &DeviceCsr<S, O>,
        options: SpmmOptions,
    ) -> Result<SpmmPlan<S, O>, OpError> {
        matrix.plan_spmm(options)
    }
}

macro_rules! mixed {
    ($($values:ident with $dense:ident,)*) => {$(
        impl SpmmOperand<$values> for $dense {
            fn plan_spmm<O: Offset>(
                matrix: &DeviceCsr<$values, O>,
                options: SpmmOptions,
            ) -> Result<SpmmPlan<$values, O, $dense>, OpError> {
                matrix.plan_spmm_mixed(options)
            }
        }
    )*};
}
mixed!(f16 with f32, bf16 with f32, f32 with f64,);
