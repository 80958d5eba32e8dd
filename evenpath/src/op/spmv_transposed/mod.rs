//! The transpose of a sparse matrix times a dense vector: the plan, and one file per method.

mod copied;
mod cpu;
mod info;
mod method;
mod options;
mod ordered;
mod plan;
mod schedule;
mod unordered;

pub use info::SpmvTransposedPlanInfo;
pub use method::SpmvTransposedMethod;
pub use options::SpmvTransposedOptions;
pub use plan::SpmvTransposedPlan;
