//! Smoothed-aggregation algebraic multigrid.

mod aggregate;
mod coarse;
mod cycle;
mod diagonal;
mod filtered;
mod hierarchy;
mod info;
mod krylov;
mod level;
mod options;
mod prolongation;
mod seeds;
mod smoother;
mod spectral;
mod strength;
mod tentative;
mod transfer;

pub use hierarchy::SmoothedAggregation;
pub use info::{AmgInfo, AmgLevelInfo, AmgSetUpMs};
pub use level::AmgLevel;
pub use options::{AmgCycle, AmgOptions, AmgSmoother};
