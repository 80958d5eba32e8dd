//! Set operations on two sorted sequences by balanced path (Baxter, "Modern GPU", 2013; Dalton et al., IPDPS 2015,
//! section III-B): the n-th copy of a key in A matches the n-th in B, and an operation keeps matches, the rest of
//! A, the rest of B, or some of these.
//!
//! One pass over the data: [`SetPartition`] finds where tiles begin; [`SetKeys`] and [`SetPairs`] walk each tile's
//! path, find by look-back the number of results of the tiles before, and write. Their blocks process many tiles: a
//! tile's results wait in shared memory while the block walks the next. [`SetCount`] only counts. [`FirstDescent`]
//! checks an input.

mod count;
mod descent;
pub mod keep;
mod partition;
mod schedule;
mod state;
mod tile;
mod values;
mod walk;

pub use count::SetCount;
pub use descent::FirstDescent;
pub use partition::SetPartition;
pub use state::{state_words, RESULT_SIZE};
pub use tile::{keys_shared_bytes, pairs_shared_bytes, SetKeys, SetPairs};
