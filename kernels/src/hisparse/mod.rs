//! HiSparse: trees of small nodes (Derler, *HiSparse: A Hierarchical Sparse Matrix Format for the GPU*, 2016).

pub mod layout;
mod leaf_entries;
mod leaves;
mod link;
mod list_entries;
mod node;
mod nodes;
mod place;
mod pool_mut;
pub mod product;
pub mod queue;
mod runs;
mod schedule;
mod spmm;
mod spmv;
mod strip;
pub mod sum;

pub use leaf_entries::HiSparseFillLeaves;
pub use leaves::{HiSparseCountChildren, HiSparseListChildren};
pub use list_entries::{HiSparseCountEntries, HiSparseListEntries};
pub use node::{Node, NodeList, Pool};
pub use nodes::{
    HiSparseCountNodes, HiSparseLevelStarts, HiSparseNumberEntries, HiSparseWriteNodes, SortedRuns,
};
pub use place::{place_state_words, HiSparseLinkNodes, HiSparsePlaceNodes, PlacedNodes, PLACE_RESULTS};
pub use pool_mut::{NodeMut, PoolMut};
pub use runs::{Entries, HiSparseCountRuns, HiSparseWriteRuns};
pub use schedule::{
    HiSparseCountParts, HiSparseCountQuads, HiSparseListLeaves, HiSparseListParts, Schedule, QUAD, TEAM,
};
pub use spmm::{spmm_sums_bytes, HiSparseSpmm, Strided, StridedMut};
pub use spmv::{HiSparseSpmv, Orientation, Plain, Transposed};
pub use strip::sums_bytes;
