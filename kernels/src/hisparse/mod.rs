//! HiSparse: trees of small nodes (Derler, *HiSparse: A Hierarchical Sparse Matrix Format for the GPU*, 2016).

pub mod layout;
mod leaves;
mod node;
mod schedule;
mod spmv;
mod strip;

pub use leaves::{HiSparseCountChildren, HiSparseListChildren};
pub use node::{Node, Pool};
pub use schedule::{HiSparseCountParts, HiSparseCountQuads, HiSparseListLeaves, HiSparseListParts, QUAD};
pub use spmv::HiSparseSpmv;
pub use strip::sums_bytes;
