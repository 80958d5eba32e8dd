//! Sums of two trees (Derler 2016, chapter 6): the nodes of A and B at the same position are merged, and the sum's node
//! has the union of their entries. This is done level by level, by a kernel per level, or by
//! [queues](HiSparseQueuedSum), by one kernel for all levels.
//!
//! A pair of nodes is merged by a thread if both have a few entries, by a warp if both are sparse and small, and by a block if
//! one is large or dense. The block scans dense nodes slot by slot, and marks the entries of sparse nodes in bitmaps, so that
//! their order does not matter. Warps count entries with bitmaps as well.

mod children;
mod count;
mod fill;
mod large;
mod levels;
mod marks;
mod memory;
mod pairs;
mod queued;
mod side;
mod sink;
mod slots;
mod small;
pub mod state;
mod tiny;

pub use children::{children_shared_bytes, HiSparseAddChildren};
pub use count::HiSparseCountSums;
pub use fill::HiSparseAddLeaves;
pub use levels::{
    sum_tile_words, SumLevels, SumNodes, SumPlaces, SUM_ENDS, SUM_LEVEL_UNITS, SUM_LEVEL_WORDS, SUM_ROOT,
};
pub use memory::{count_shared_bytes, merge_shared_bytes};
pub use pairs::NodePairs;
pub use queued::{
    queued_shared_bytes, HiSparseQueuedSum, QueuedPair, SumPool, SumQueues, SumTrees, ENTRIES, ROOT,
    SUM_RESULTS, UNITS,
};
