//! The halo: the elements of a vector that a rank needs from others.

mod exchange;
mod info;
mod plan;

pub(crate) use exchange::{HaloExchange, Sent, expand};
pub use info::ExchangeInfo;
pub use plan::Halo;
