//! HiSparse: trees of small nodes (Derler, *HiSparse: A Hierarchical Sparse Matrix Format for the GPU*, 2016).

pub mod layout;
mod leaves;
mod node;
pub mod queue;

pub use leaves::{HiSparseCountChildren, HiSparseListChildren};
pub use node::{Node, Pool};
