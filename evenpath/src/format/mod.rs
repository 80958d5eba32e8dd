//! Formats of matrices in a device's memory, and conversions between them.

mod access;
mod bsr;
pub(crate) mod canonical;
mod chosen_columns;
mod coo;
pub(crate) mod coordinates;
pub(crate) mod csr;
mod csr_parts;
pub(crate) mod dense;
mod dense_lines;
mod diagonal;
mod ell;
pub(crate) mod filled_rows;
mod filter;
mod hyb;
mod kronecker;
pub(crate) mod listed_rows;
pub(crate) mod offsets;
pub(crate) mod path_tiles;
mod permute;
mod reduction;
pub(crate) mod row_order;
pub(crate) mod row_pieces;
mod scale;
mod select_columns;
mod select_rows;
mod sliced_ell;
mod softmax;
mod sort_rows;
mod stack;
mod submatrix;
pub(crate) mod transpose;
pub(crate) mod transposed_copy;
pub(crate) mod values;

pub use bsr::DeviceBsr;
pub use coo::DeviceCoo;
pub use csr::DeviceCsr;
pub use dense::{DeviceDense, InvalidDense, Layout};
#[cfg(feature = "lab")]
pub(crate) use ell::EllVariant;
pub use ell::{DeviceEll, DeviceEllR, EllR};
pub use filter::Filter;
pub use hyb::DeviceHyb;
pub use row_order::DeviceRowOrder;
pub use sliced_ell::DeviceSlicedEll;
pub use values::CsrValues;
