//! Krylov methods.

mod cg;

pub use cg::Cg;
