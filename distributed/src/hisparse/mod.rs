//! Trees over ranks.

mod build;
mod cut;
mod matrix;
mod side;
mod tree;

pub use matrix::DistributedHiSparse;
pub(crate) use side::{Side, Strips};
pub(crate) use tree::build_tree;
