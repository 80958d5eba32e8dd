//! Sparse matrix times dense vector: y = αAx + βy, and y = αAᵀx + βy.

mod merge;
mod path_tile;
mod row_group;
mod row_lengths;
mod row_tiles;
mod transpose;
mod transposed;
mod windows;

pub use merge::{MergeFixup, MergePartition, MergeTile};
pub use row_lengths::{RowLengths, LENGTH_TOTALS};
pub use row_tiles::{FourRows, OneRow, RowShare, RowTiles, TwoRows};
pub use transpose::{ColumnOffsets, RowIndices};
pub use transposed::{slot_bytes, AddTransposed, AtomicFloat, TransposedProducts};
pub use windows::{FindWindows, RowWindows, NEAR, WINDOW_STEP, WINDOW_TOTALS};
