//! Conjugate gradients.

mod by_graph;
mod by_host;
mod method;
mod name;

pub use method::Cg;
