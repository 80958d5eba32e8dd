//! Merge of two sorted sequences by merge path (Green, McColl, Bader, ICS 2012): stable, A's elements
//! before those of B that equal them.
//!
//! [`MergeKeysPartition`] finds where each tile of the output begins in the inputs; [`MergeKeys`] and
//! [`MergePairs`] merge the tiles, each input read once and the output written once.

mod partition;
mod tile;

pub use partition::MergeKeysPartition;
pub use tile::{MergeKeys, MergePairs};
