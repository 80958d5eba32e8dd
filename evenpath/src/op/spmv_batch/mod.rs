//! Products of a batch of matrices that have one pattern.

mod info;
mod plan;

pub use info::SpmvBatchPlanInfo;
pub use plan::SpmvBatchPlan;
