//! Sparse matrix times dense vector: y = αAx + βy.

mod merge;
mod row_group;
mod row_lengths;
mod row_tiles;
mod windows;

pub use merge::{MergeFixup, MergePartition, MergeTile};
pub use row_lengths::{RowLengths, LENGTH_TOTALS};
pub use row_tiles::{FourRows, OneRow, RowShare, RowTiles, TwoRows};
pub use windows::{FindWindows, RowWindows, NEAR, WINDOW_STEP, WINDOW_TOTALS};
