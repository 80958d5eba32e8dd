//! Operations on matrices in a device's memory: plan, launch, result.

mod assembly;
mod cg;
mod factorization;
pub(crate) mod hisparse;
mod host_csr;
mod operators;
mod product;
mod sddmm;
mod spadd;
mod spgemm;
mod spmm;
mod spmv;
mod spmv_batch;
mod spmv_transposed;
mod triangular;

pub use assembly::{AssemblyOptions, AssemblyPlan, AssemblyPlanInfo};
pub use cg::CgVectors;
pub use factorization::{FactorizationOptions, FactorizationPlanInfo, Ic0Plan, Ilu0Plan};
pub use sddmm::{SddmmPlan, SddmmPlanInfo};
pub use spadd::{ElementwisePlan, ElementwisePlanInfo, SpaddMethod};
#[cfg(feature = "lab")]
pub use spgemm::SpgemmPhases;
#[cfg(feature = "lab")]
pub(crate) use spgemm::measure_two_level_sort;
pub use spgemm::{SpgemmMethod, SpgemmOptions, SpgemmPlan, SpgemmPlanInfo};
pub use spmm::{SpmmOptions, SpmmPlan, SpmmPlanInfo};
pub use spmv::{SpmvDetails, SpmvMethod, SpmvOptions, SpmvPlan, SpmvPlanInfo, SpmvTiming, SpmvTuning};
pub use spmv_batch::{SpmvBatchMethod, SpmvBatchOptions, SpmvBatchPlan, SpmvBatchPlanInfo};
pub use spmv_transposed::{
    SpmvTransposedMethod, SpmvTransposedOptions, SpmvTransposedPlan, SpmvTransposedPlanInfo,
};
pub use triangular::{
    Diagonal, Triangle, TriangularMethod, TriangularOptions, TriangularPlan, TriangularPlanInfo,
};
