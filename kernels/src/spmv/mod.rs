//! Sparse matrix times dense vector: y = αAx + βy, and y = αAᵀx + βy.

mod adaptive;
mod binned;
mod cut_rows;
mod encode_columns;
mod flat;
mod light;
mod long_rows;
mod merge;
mod narrow_blocks;
mod narrow_rows;
mod path_tile;
mod product;
mod row_group;
mod row_lengths;
mod row_tiles;
mod rows;
mod transpose;
mod transposed;
mod windows;

pub use adaptive::{AdaptiveRows, CutRowBlocks, RowBlockKind, ROWS_PER_NONZERO};
pub use binned::BinnedRows;
pub use cut_rows::{CutRows, FindCutRows};
pub use encode_columns::{CodedColumns, EncodeColumns, ShareCodes, SEGMENTS};
pub use flat::{FlatCompactRows, FlatFillEmptyRows, FlatPartition, FlatTile};
pub use light::LightRows;
pub use long_rows::{ListLongRows, LongRows, NumberPieces};
pub use merge::{MergePartition, MergeTile};
pub use narrow_blocks::NarrowBlocks;
pub use narrow_rows::NarrowRows;
pub use product::Product;
pub use row_lengths::{RowLengths, LENGTH_TOTALS};
pub use row_tiles::{FourRows, OneRow, RowShare, RowTiles, TwoRows};
pub use rows::{BlockRows, VectorRows};
pub use transpose::{ColumnOffsets, RowIndices};
pub use transposed::{slot_bytes, AddTransposed, AtomicFloat, TransposedProducts};
pub use windows::{FindWindows, RowWindows, NEAR, WINDOW_STEP, WINDOW_TOTALS};
