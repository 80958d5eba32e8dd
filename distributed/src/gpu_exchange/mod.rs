//! Exchange between GPUs by NCCL, and the decision to use it.

mod exchange;
mod join;
mod start;
#[cfg(test)]
mod tests;

pub(crate) use exchange::{PeerRanges, Started, Way};
pub(crate) use start::start;
