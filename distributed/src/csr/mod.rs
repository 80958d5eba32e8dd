//! Sparse matrices over ranks.

mod build;
mod cut_rows;
mod divide;
mod market;
mod market_writer;
mod matrix;
mod parts;
mod travel;

pub use matrix::DistributedCsr;
pub(crate) use matrix::NonLocal;
