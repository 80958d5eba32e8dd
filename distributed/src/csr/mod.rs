//! Sparse matrices over ranks.

mod build;
mod divide;
mod market;
mod matrix;
mod travel;

pub use matrix::DistributedCsr;
pub(crate) use matrix::NonLocal;
