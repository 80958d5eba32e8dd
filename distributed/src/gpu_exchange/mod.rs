//! The exchange between GPUs by NCCL, and when it is used.

mod exchange;
mod join;
mod start;
#[cfg(test)]
mod tests;

pub(crate) use exchange::{Part, Started, Way};
pub(crate) use start::start;
