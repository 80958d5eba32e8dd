//! NCCL: the library's functions, communicators, and the choice of engine.

mod communicator;
mod engine;
pub(crate) mod functions;
#[cfg(test)]
pub(crate) mod stand_in;

pub(crate) use communicator::Communicator;
pub(crate) use engine::Chosen;
pub use engine::{Engine, ExchangeEngine};
