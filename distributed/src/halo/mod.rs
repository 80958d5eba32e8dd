//! The halo: the elements of a vector that a rank needs of others.

mod exchange;
mod plan;

pub(crate) use exchange::{HaloExchange, Sent, expand};
pub use plan::Halo;
