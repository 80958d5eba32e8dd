//! Operations on distributed matrices. Each is collective.

mod cut_row;
mod hisparse;
mod info;
mod panels;
mod run;
mod scale;
mod spadd;
mod spgemm;
mod spmm;
mod spmv;
mod spmv_transposed;

pub use hisparse::{
    DistributedHiSparsePlanInfo, DistributedHiSparseSpgemmOptions, DistributedHiSparseSpmmPlan,
    DistributedHiSparseSpmmPlanInfo, DistributedHiSparseSpmvPlan, DistributedHiSparseSpmvPlanInfo,
    DistributedHiSparseSpmvTransposedPlan,
};
pub use info::{
    DistributedCutRowInfo, DistributedPlanInfo, DistributedSpmmPlanInfo, DistributedSpmvPlanInfo,
    DistributedSpmvTransposedPlanInfo,
};
pub use spgemm::DistributedSpgemmOptions;
pub use spmm::DistributedSpmmPlan;
pub use spmv::DistributedSpmvPlan;
pub use spmv_transposed::DistributedSpmvTransposedPlan;
