//! Smoothed-aggregation algebraic multigrid.

mod aggregate;
mod build;
mod coarse;
mod cycle;
mod diagonal;
#[cfg(feature = "distributed")]
mod distributed;
mod filtered;
#[cfg(feature = "distributed")]
mod gathered;
mod hierarchy;
mod info;
mod krylov;
mod level;
mod matrix;
mod near_null;
mod options;
#[cfg(feature = "distributed")]
mod over_ranks;
mod prolongation;
mod seeds;
mod smoother;
mod spectral;
mod strength;
mod tentative;
mod transfer;

#[cfg(feature = "distributed")]
pub use distributed::DistributedSmoothedAggregation;
pub use hierarchy::SmoothedAggregation;
pub use info::{AmgInfo, AmgLevelInfo, AmgSetUpMs};
pub use level::AmgLevel;
pub use options::{AmgCycle, AmgOptions, AmgSmoother};
