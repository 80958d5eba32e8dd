//! Common parts of operations: factors, checks of operands, errors, and memory shared by the blocks of a
//! launch.

pub(crate) mod aligned;
pub(crate) mod block_size;
pub(crate) mod check;
mod countable;
mod error;
pub(crate) mod factor;
pub(crate) mod pairs;
pub(crate) mod requirement;
pub(crate) mod tagged_sums;

pub(crate) use countable::countable;
pub use error::OpError;
pub use factor::Factor;
pub use pairs::Pairs;
