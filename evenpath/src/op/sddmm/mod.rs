//! Product of dense matrices at the nonzeros of a sparse matrix.

mod info;
mod kernels;
mod plan;

pub use info::SddmmPlanInfo;
pub use plan::SddmmPlan;
