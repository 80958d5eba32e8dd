//! Ranks that are processes with pairwise TCP connections.

mod accept;
mod address;
mod dial;
#[cfg(feature = "fuzzing")]
pub(super) mod fuzzing;
mod hello;
mod mesh;
mod start;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use address::TcpOptions;
pub(crate) use hello::Secret;
pub(crate) use start::connect;
