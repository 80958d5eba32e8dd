//! A rank of a cluster: messages of typed elements to others, and the collective operations.

mod collectives;
mod member;
mod messages;
mod waits;

pub use member::{Rank, Traffic};
pub(crate) use messages::Exchange;
