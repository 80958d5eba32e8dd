//! The queue scheduler: blocks share work through queues in global memory (Derler 2016, chapter 4).
//!
//! A grid of any number of blocks, usually as many as are resident, draws elements from queues until none are left. A
//! block draws as many elements of a queue at once as it has lanes for, processes them, and puts the elements that it
//! finds into queues. In the thesis a controller launches a kernel for each queue that is filled well enough;
//! `docs/kernels.md` says why there is none here.
//!
//! | part | is |
//! |---|---|
//! | [`Specification`], [`Payload`] | how many queues there are, the lanes per element of each, and what an element is |
//! | [`Queues`] | the queues in global memory |
//! | [`run`], [`QueueOperation`] | the general loop: draw, process, put; for operations of any kind, such as sums of two trees |
//! | [`traverse`], [`EntryOperation`] | the loop for all entries of one tree, with lists of leaves in shared memory |
//!
//! # Full queues
//!
//! The capacity of queues is a choice, not a bound: no work is lost if a queue is full, and no block waits for space. [`run`]
//! keeps elements that find no place in a stack of the block, and takes a few slots of them at a time, depth first.
//! [`traverse`] walks a subtree that finds no place itself.
//!
//! # Operations
//!
//! | operation | kernel | order of additions |
//! |---|---|---|
//! | y += αAx, also with Aᵀ | [`HiSparseQueuedSpmv`] | any |
//! | the sum of the squares of all entries | [`HiSparseSquares`] | any |
//! | the diagonal | [`HiSparseDiagonal`] | none |
//! | the entries of a block of rows and columns | [`HiSparseBlockCounts`], [`HiSparseBlockEntries`] | none |
//! | C = A + B, with either transposed | [`HiSparseQueuedSum`](super::sum::HiSparseQueuedSum) | none |
//! | the nodes of a tree from its entries | [`HiSparseBinEntries`](super::binning::HiSparseBinEntries) | none |

mod add_products;
mod block;
mod blocks;
mod dense;
mod diagonal;
mod queues;
mod shares;
mod specification;
mod spmv;
mod squares;
mod stack;
mod traverse;
mod tree;
mod walk;
mod work;

pub use add_products::AddProducts;
pub use block::{BlockEntries, BlockRange, HiSparseBlockCounts, HiSparseBlockEntries};
pub use blocks::{run, run_shared_bytes, FoundElement, QueueOperation};
pub use diagonal::{Diagonal, HiSparseDiagonal};
pub use queues::{places_words, state_words, Queues, ROOT, WIDE};
pub use specification::{Payload, Specification, MAX_WORDS};
pub use spmv::HiSparseQueuedSpmv;
pub use squares::HiSparseSquares;
pub use traverse::{traverse, traverse_shared_bytes, TreeQueues};
pub use tree::{DenseRows, EntryOperation, LoadedEntries, Region, Tree};
pub use work::{Work, BLOCK, PIECE_CHILDREN, PIECE_ENTRIES};
