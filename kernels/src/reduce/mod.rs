//! Reduction by segments: the sum of each, by keys, by flags, or by rows.

mod marked;
mod reduce_tile;
mod rows;

pub use marked::{ReduceByFlag, ReduceByKey};
pub use reduce_tile::ReduceArguments;
pub use rows::{FillEmptyRows, MarkRows, ReduceRows};
