//! Sparse matrix times dense vector: the plan, its methods, and the choice of one.

mod abilities;
mod build;
mod by_type;
mod choose;
mod cost;
mod costs;
mod details;
mod direct;
mod features;
mod found_windows;
mod gathers;
mod info;
mod lengths;
mod method;
mod methods;
mod options;
mod plan;
mod reason;
mod schedule;
mod sectors;
mod semiring;
mod strategy;
mod thresholds;
mod tune;

pub use details::SpmvDetails;
pub use info::SpmvPlanInfo;
pub use method::SpmvMethod;
pub use options::SpmvOptions;
pub use plan::SpmvPlan;
pub use tune::{SpmvTiming, SpmvTuning};
