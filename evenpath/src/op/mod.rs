//! Operations on matrices in a device's memory: plan, launch, result.

mod hisparse;
mod host_csr;
mod operators;
mod product;
mod spadd;
mod spgemm;
mod spmm;
mod spmv;
mod spmv_transposed;

pub use hisparse::{
    DeviceHiSparse, HiSparseQueuedOptions, HiSparseQueuedPlan, HiSparseQueuedPlanInfo, HiSparseSpaddMethod,
    HiSparseSpaddOptions, HiSparseSpgemmMethod, HiSparseSpgemmOptions, HiSparseSpmmOptions, HiSparseSpmmPlan,
    HiSparseSpmmPlanInfo, HiSparseSpmvMethod, HiSparseSpmvOptions, HiSparseSpmvPlan, HiSparseSpmvPlanInfo,
};
pub use spadd::{ElementwisePlan, ElementwisePlanInfo};
pub use spgemm::{SpgemmMethod, SpgemmOptions, SpgemmPhases, SpgemmPlan, SpgemmPlanInfo};
pub use spmm::{SpmmOptions, SpmmPlan, SpmmPlanInfo};
pub use spmv::{SpmvDetails, SpmvMethod, SpmvOptions, SpmvPlan, SpmvPlanInfo, SpmvTiming, SpmvTuning};
pub use spmv_transposed::{
    SpmvTransposedMethod, SpmvTransposedOptions, SpmvTransposedPlan, SpmvTransposedPlanInfo,
};
