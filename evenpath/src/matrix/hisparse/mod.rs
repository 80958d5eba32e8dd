//! HiSparse: a tree of small nodes, each dense or sparse.

pub(crate) mod convert;
mod entries;
mod leaf_rows;
pub(crate) mod leaves;
mod matrix;
pub(crate) mod node;
mod options;
mod share;
mod share_pool;
mod statistics;
pub(crate) mod tree;
mod validate;

pub use entries::{Entries, Node};
pub use matrix::HiSparse;
pub(crate) use node::{Reference, Unit};
pub use options::Options;
pub use statistics::{LevelStatistics, NodeStatistics, Statistics};
pub(crate) use tree::{BuiltTree, depth};
