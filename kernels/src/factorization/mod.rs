//! Incomplete factorizations without fill, row by row, each after the rows that its entries below the diagonal refer to.
//!
//! A warp has one row. Products are not fused with sums, so that the CPU gives the same bits.

mod blocks;
mod cholesky;
mod lu;
mod rows;

pub use blocks::InvertBlocks;
pub use cholesky::FactorizeCholesky;
pub use lu::FactorizeLu;
pub use rows::FactorRows;
