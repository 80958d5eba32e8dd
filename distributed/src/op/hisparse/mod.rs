//! Products of distributed trees and vectors.

mod info;
mod operand;
mod plan;
mod sums;
mod transposed;

pub use info::DistributedHiSparseSpmvPlanInfo;
pub use plan::DistributedHiSparseSpmvPlan;
pub use transposed::DistributedHiSparseSpmvTransposedPlan;
