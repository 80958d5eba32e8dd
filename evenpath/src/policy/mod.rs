//! Tile sizes: plain data, by operation, value type and GPU generation.
//!
//! Every entry was chosen by measurement; the benchmark prints the table beside its results.

mod tables;
mod tile;

pub(crate) use tables::{COO_INTERVAL, spmv_adaptive, spmv_flat, spmv_lanes, spmv_merge};
pub use tile::Tile;
