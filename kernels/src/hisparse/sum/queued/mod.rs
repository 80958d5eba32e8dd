//! C = A + B by queues (Derler 2016, chapter 6): one kernel traverses both trees from the roots, and the host waits for no
//! level.
//!
//! The pattern of C does not depend on values, and the entries of a node of C are those of the nodes of A and B together. So a
//! node is allocated and given its coordinates before its children are known, and each child gets the address of the slot
//! that its reference goes to. Nodes come from the pool by atomic additions, so their order depends on timing; the content of
//! C does not.
//!
//! | class of a pair | goes through | merged by |
//! |---|---|---|
//! | both nodes are sparse and have up to four entries | no queue | the thread that finds it |
//! | both are sparse and have up to 512 entries | `SMALL` | a warp: bitmap, then positions by binary search |
//! | one is dense, or has more entries | `LARGE` | a block, with bitmaps |
//! | only one tree has the node, and it is sparse and in C's order | `COPIES` | a warp, which copies it |
//!
//! The children of a merged inner node are its slots: up to eight through `NARROW`, 16 such nodes per block, else through the
//! queue of whole blocks, in pieces of 128 slots. A lane takes a slot, reads its coordinates in C, which another block may have
//! written, and looks the children up in A and B.
//!
//! If the pool is full, nothing more is merged, and the queues drain. The units that were asked for then exceed the pool's.

mod adder;
mod kernel;
mod merge;
mod pair;
mod parameters;

pub use kernel::{queued_shared_bytes, HiSparseQueuedSum};
pub use pair::{QueuedPair, SumQueues};
pub use parameters::{SumPool, SumTrees, ENTRIES, ROOT, SUM_RESULTS, UNITS};
