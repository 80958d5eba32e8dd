//! Matrices in host memory: formats, validation, conversion, statistics, generators.

mod blocks;
mod bsr;
mod canonical;
mod columns;
mod compress;
mod coo;
mod csr;
mod ell;
mod error;
mod filter;
pub mod generate;
pub(crate) mod hisparse;
mod hyb;
mod kronecker;
mod limits;
mod node_fault;
mod padding;
mod reduction;
mod refused;
mod row;
mod row_order;
mod scale;
mod select;
mod sliced_ell;
mod stack;
mod statistics;
#[cfg(test)]
mod tests;
mod transpose;
mod triplets;
mod validate;
mod view;

pub(crate) use blocks::{grain, local_ranges, row_blocks, split, split_both};
pub use bsr::Bsr;
pub(crate) use bsr::write_diagonal_blocks;
pub use canonical::Duplicates;
pub(crate) use canonical::first_descent;
pub use coo::Coo;
pub use csr::Csr;
pub use ell::Ell;
pub use error::MatrixError;
pub use hisparse::HiSparse;
pub use hyb::{Hyb, HybOptions, HybWidth, InvalidHyb};
pub(crate) use kronecker::KroneckerShape;
pub(crate) use limits::PADDING;
pub use limits::{MAX_BLOCK_SIZE, MAX_DIMENSION};
pub use node_fault::{InvalidNode, NodeFault, NodeKind};
pub use padding::PaddingLimit;
pub use refused::{InvalidBsr, InvalidCoo, InvalidCsr, InvalidEll};
pub use row::{Row, Rows};
pub use row_order::{LongestRows, OrderLoads, RowOrder, WarpLoads};
pub(crate) use scale::{scale_columns, scale_rows};
pub use sliced_ell::{InvalidSlicedEll, SlicedEll, SlicedEllOptions};
pub(crate) use stack::{Block, BlockRow, Blocks};
pub use statistics::Statistics;
pub(crate) use validate::{
    block_range as check_block_range, csr as check_csr, dimensions as check_dimensions,
    threads as check_threads,
};
pub use view::CsrView;
