//! Incomplete factorizations without fill.

mod blocks;
mod cholesky;
mod lu;
mod rows;

pub(crate) use blocks::invert_blocks;
pub(crate) use cholesky::factorize_cholesky;
pub(crate) use lu::factorize_lu;
pub(crate) use rows::FactorizedRows;
