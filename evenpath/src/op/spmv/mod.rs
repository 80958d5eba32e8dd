//! Sparse matrix times dense vector: the plan, and one schedule per method.

mod adaptive;
mod binned;
mod block_size;
mod build;
mod choose;
mod cost;
mod costs;
mod cpu;
mod cut_rows;
mod features;
mod flat;
mod gathers;
mod hot;
mod info;
mod lengths;
mod light;
mod merge;
mod method;
mod narrow;
mod options;
mod plan;
mod row_tiles;
mod rows;
mod schedule;
mod sectors;
mod sliced;
mod thresholds;
mod tune;
mod windows;

pub use info::SpmvPlanInfo;
pub use method::SpmvMethod;
pub use options::SpmvOptions;
pub use plan::SpmvPlan;
pub use tune::{SpmvTiming, SpmvTuning};
