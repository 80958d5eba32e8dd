//! Sums of distributed trees, and their products with vectors, dense matrices and each other.

mod dense;
mod info;
mod operand;
mod plan;
mod spadd;
mod spgemm;
mod spmm;
mod sums;
mod transposed;

pub use info::{
    DistributedHiSparsePlanInfo, DistributedHiSparseSpmmPlanInfo, DistributedHiSparseSpmvPlanInfo,
};
pub use plan::DistributedHiSparseSpmvPlan;
pub use spgemm::DistributedHiSparseSpgemmOptions;
pub use spmm::DistributedHiSparseSpmmPlan;
pub use transposed::DistributedHiSparseSpmvTransposedPlan;
