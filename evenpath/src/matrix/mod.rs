//! Matrices in host memory: formats, validation, conversion, statistics, generators.

mod blocks;
mod canonical;
mod compress;
mod coo;
mod csr;
mod ell;
mod error;
mod filter;
pub mod generate;
pub(crate) mod hisparse;
mod hyb;
mod padding;
mod reduction;
mod row;
mod row_order;
mod scale;
mod select;
mod sliced_ell;
mod statistics;
#[cfg(test)]
mod tests;
mod transpose;
mod validate;
mod view;

pub(crate) use blocks::{grain, local_ranges, row_blocks, split, split_both};
pub use canonical::Duplicates;
pub(crate) use canonical::first_descent;
pub use coo::Coo;
pub use csr::Csr;
pub use ell::Ell;
pub use error::{InvalidCoo, InvalidCsr, InvalidEll, InvalidHyb, InvalidSlicedEll, MatrixError};
pub use hisparse::HiSparse;
pub use hyb::{Hyb, HybOptions, HybWidth};
pub(crate) use padding::PADDING;
pub use padding::PaddingLimit;
pub use row::{Row, Rows};
pub use row_order::{LongestRows, OrderLoads, RowOrder, WarpLoads};
pub(crate) use scale::{scale_columns, scale_rows};
pub use sliced_ell::{SlicedEll, SlicedEllOptions};
pub use statistics::Statistics;
pub use validate::MAX_DIMENSION;
pub(crate) use validate::{csr as check_csr, dimensions as check_dimensions, threads as check_threads};
pub use view::CsrView;
