//! Matrices in host memory: formats, validation, conversion, statistics, generators.

mod blocks;
mod canonical;
mod compress;
mod coo;
mod csr;
mod error;
pub mod generate;
mod row;
mod statistics;
#[cfg(test)]
mod tests;
mod validate;
mod view;

pub use canonical::Duplicates;
pub use coo::Coo;
pub use csr::Csr;
pub use error::{InvalidCoo, InvalidCsr, MatrixError};
pub use row::{Row, Rows};
pub use statistics::Statistics;
pub(crate) use validate::dimensions as check_dimensions;
pub use view::CsrView;

/// Most rows, and most columns, that a matrix can have: 2³² − 1.
///
/// Columns are stored as `u32`; rows have the same limit, so that every matrix has a transpose.
pub const MAX_DIMENSION: usize = u32::MAX as usize;
