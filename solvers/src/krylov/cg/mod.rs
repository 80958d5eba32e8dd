//! Conjugate gradients.

mod by_graph;
mod by_host;
mod method;

pub use method::Cg;
