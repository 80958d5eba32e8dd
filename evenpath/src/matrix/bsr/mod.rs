//! Block compressed sparse rows: dense blocks of one size.

mod convert;
mod diagonal;
mod fill;
mod matrix;

pub(crate) use diagonal::write_diagonal_blocks;
pub use matrix::Bsr;
