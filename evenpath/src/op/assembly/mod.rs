//! Assembly of a matrix from triplets: the pattern is found once, and values are summed as often as they change.

mod correction;
mod fixed;
mod info;
mod options;
mod pattern;
mod plan;
mod triplets;

pub use info::AssemblyPlanInfo;
pub use options::AssemblyOptions;
pub use plan::AssemblyPlan;
