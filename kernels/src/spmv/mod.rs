//! Sparse matrix times dense vector: y = αAx + βy.

mod merge;

pub use merge::{MergeFixup, MergePartition, MergeTile};
