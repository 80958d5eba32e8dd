//! Clusters: how ranks are started, and run.

mod environment;
mod run;
mod start;

pub use environment::DEFAULT_TIMEOUT;
pub use start::Cluster;
