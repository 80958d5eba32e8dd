//! Products of a batch of matrices that have one pattern.

mod info;
mod one_by_one;
mod options;
mod plan;
mod tiles;

pub use info::SpmvBatchPlanInfo;
pub use options::{SpmvBatchMethod, SpmvBatchOptions};
pub use plan::SpmvBatchPlan;
