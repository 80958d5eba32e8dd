//! Products with matrices in block compressed sparse rows (BSR): dense blocks of one size, each stored row by row.
//!
//! A warp reads the values of a block row as one sequence, so that its loads are full. Each lane keeps its place in a
//! block ([`shape`]), and with it the rows that it sums. Block rows with many blocks are cut into [`pieces`](crate::pieces).

mod any_size;
mod diagonal;
mod lanes;
mod matrix;
pub mod shape;
mod spmm;
mod spmv;

pub use diagonal::DiagonalBlocks;
pub use matrix::GlobalBsr;
pub use spmm::BsrSpmm;
pub use spmv::BsrSpmv;
