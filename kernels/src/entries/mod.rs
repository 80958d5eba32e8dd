//! The entries of a matrix: scaled by row and by column, counted, filtered, and the norms of rows.
//!
//! Kernels that need the row of an entry divide the merge of row ends and entries, like SpMV by merge path, so that rows of any
//! length are equal work per thread.

mod by_row;
mod compact;
mod keep;
mod norms;

pub use by_row::{CountRows, ScaleColumns, ScaleRows};
pub use compact::{CompactEntries, CountKept, RankRows};
pub use keep::{code, Condition, MarkEntries, MarkLargest};
pub use norms::{FinishRowNorms, RowNorms, TILE_SUMS};
