//! Conjugate gradients.

mod by_block;
mod by_graph;
mod by_host;
mod limits;
mod method;

pub use method::Cg;
