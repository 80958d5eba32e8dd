//! Conversion of entries to a tree, top-down by queues and then bottom-up (Derler 2016, chapter 3).
//!
//! | step | kernel | is |
//! |---|---|---|
//! | 1 | [`HiSparseStartBinning`] | copies the positions of all entries, which will be moved, and makes the root |
//! | 2 | [`HiSparseBinEntries`] | sorts the entries of each inner node, starting at the root, into the D × D bins that are its children, stably and in place; makes a skeleton of all nodes, and adds up their sizes |
//! | 3 | [`HiSparseFillBinned`] | takes nodes from the pool, which the host has allocated, from the leaves up: the last child of a node that is done starts the node |
//!
//! Inner nodes go through queues, by their entries:
//!
//! | entries | goes through | binned by |
//! |---|---|---|
//! | 1 | no queue | the thread that finds it, with all nodes below |
//! | up to 32 | `SMALL` | a warp, in registers |
//! | up to [`TILE`], 1024 | `WIDE` | a block, in shared memory |
//! | more | `WIDE`, in pieces of at least four tiles | a block per piece, by a least significant digit radix sort of the two digits; the last piece of each phase starts the next one |
//!
//! The children of a node have consecutive numbers in the skeleton. Those of a node that was binned by a warp or a block are
//! found in their range: up to eight through `NARROW`, else through `WIDE`. Leaves go through no queue: binning is stable, so the
//! entries of a leaf stand in the order of the matrix, by rows.

mod binner;
mod fill;
mod kernel;
mod pieces;
mod skeleton;
mod small;
mod start;
mod tile;
mod work;

pub use binner::TILE;
pub use fill::HiSparseFillBinned;
pub use kernel::HiSparseBinEntries;
pub use pieces::count_words;
pub use skeleton::{
    BinnedEntries, Skeleton, BINNING_RESULTS, DESCENTS, INNER_NODES, INNER_WORDS, LEAF_WORDS, LEAVES,
    REFERENCE_OF_ROOT, UNITS, UNITS_TAKEN,
};
pub use start::HiSparseStartBinning;
pub use work::{BinningQueues, BinningWork};
