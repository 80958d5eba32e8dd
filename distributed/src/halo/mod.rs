//! The halo: the elements of a vector that a rank needs from others.

mod exchange;
mod plan;

pub(crate) use exchange::{HaloExchange, Sent, expand};
pub use plan::Halo;
