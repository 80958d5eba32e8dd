//! Clusters: starting ranks and running functions on them.

mod environment;
mod run;
mod start;

pub use environment::DEFAULT_TIMEOUT;
pub use start::Cluster;
