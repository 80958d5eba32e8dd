//! SpMM, `C = αAB + βC`, of a CSR matrix A and dense B and C.
//!
//! Lanes are laid over the columns of B, whose rows are gathered with coalesced loads (Yang, Buluç, Owens, "Design
//! Principles for Sparse Matrix Multiplication on the GPU", Euro-Par 2018, section 4). A group of lanes sums a row;
//! rows that are too long for one group are cut into pieces, which are summed separately and then added up in order.
//!
//! [`SpmmRows`] computes most rows, [`SpmmPieces`] and [`SpmmFinish`] the long ones, which [`SpmmLongRows`] lists once
//! per plan. B is read by rows: [`SpmmTranspose`] copies a B that is stored by columns. [`SpmmCombine`] is for factors in
//! device memory.
// Iterators over two arrays leave registers for local memory.
#![allow(clippy::needless_range_loop)]

mod combine;
mod group;
mod long;
mod pieces;
mod rows;
mod transpose;
mod update;
mod width;

pub use combine::SpmmCombine;
pub use group::{DenseRows, Group};
pub use long::{SpmmLongRows, LONG_COUNTERS};
pub use pieces::{SpmmFinish, SpmmPieces, FINISH_COLUMNS};
pub use rows::SpmmRows;
pub use transpose::{SpmmTranspose, TRANSPOSE_TILE};
pub use update::DenseUpdate;
pub use width::{Elements, Packets, Width};
