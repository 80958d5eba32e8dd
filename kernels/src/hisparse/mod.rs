//! HiSparse: trees of small nodes (Derler, *HiSparse: A Hierarchical Sparse Matrix Format for the GPU*, 2016).

pub mod binning;
pub mod layout;
mod leaf_entries;
mod leaves;
mod levels;
mod link;
mod list_entries;
mod node;
mod nodes;
mod place;
mod places;
mod pool_mut;
pub mod product;
pub mod queue;
mod runs;
mod schedule;
mod share;
mod spmm;
mod spmv;
mod strip;
pub mod sum;

pub use leaf_entries::HiSparseFillLeaves;
pub use leaves::{HiSparseCountChildren, HiSparseListChildren};
pub use levels::{TreeLevels, TreeShape, TREE_RESULTS, TREE_ROOT, TREE_UNITS};
pub use list_entries::{HiSparseCountEntries, HiSparseListEntries};
pub use node::{Node, NodeList, Pool};
pub use nodes::{node_state_words, HiSparseWriteNodes, SortedRuns};
pub use place::{place_state_words, HiSparseLinkNodes, HiSparsePlaceNodes, TreeNodes};
pub use places::{HiSparsePlaceProducts, Places, MOST_CHUNK_QUADS, MOST_PART_QUADS};
pub use pool_mut::{NodeMut, PoolMut};
pub use runs::{run_state_words, EntryPositions, HiSparseWriteRuns, RUN_RESULTS};
pub use schedule::{
    FrozenSchedule, HiSparseCountParts, HiSparseCountQuads, HiSparseListLeaves, HiSparseListParts, QUAD,
};
pub use share::{
    HiSparseCompareNodes, HiSparseCopyKept, HiSparseHashNodes, HiSparseRebaseChildren,
    HiSparseReplaceChildren, HiSparseReplaceRoots, InnerNodes, KeptNodes, LevelNodes,
};
pub use spmm::{spmm_sums_bytes, HiSparseSpmm, StridedDense, StridedMut};
pub use spmv::{HiSparseSpmv, Orientation, Plain, Transposed};
