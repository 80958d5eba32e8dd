//! Set operations on two sorted sequences by balanced path (Baxter, "Modern GPU", 2013; Dalton et al.,
//! IPDPS 2015, section III-B): the rank-th copy of a key in A matches the rank-th in B, and an operation
//! keeps what matches, what is left of A, what is left of B, or some of these.
//!
//! One pass over the data: [`SetPartition`] finds where tiles begin; [`SetKeys`] and [`SetPairs`] walk
//! each tile's path, find by look-back how many results the tiles before have, and write. Their blocks process
//! many tiles: a tile's results wait in shared memory while the block walks the next. [`SetCount`]
//! only counts. [`FirstDescent`] checks an input.

mod count;
mod descent;
mod partition;
mod schedule;
mod tile;
mod values;
mod walk;

pub use count::SetCount;
pub use descent::FirstDescent;
pub use partition::SetPartition;
pub use tile::{keys_shared_bytes, pairs_shared_bytes, SetKeys, SetPairs};

/// What an operation keeps, as bits of a kernel's parameter.
pub mod keep {
    /// Elements of A that match none of B.
    pub const A_ONLY: u32 = 1;
    /// Matches: A's element.
    pub const MATCHES: u32 = 2;
    /// Elements of B that match none of A.
    pub const B_ONLY: u32 = 4;
}

/// Words of a set operation's state for a number of tiles: the next ticket, the size of the result, and
/// the tiles' states of look-back. [`SetPartition`] sets them to zero.
pub const fn state_words(tiles: u32) -> usize {
    RESULT_STATES + tiles as usize
}

/// The word that holds the size of the result.
pub const RESULT_SIZE: usize = 1;
/// The first word of the tiles' states.
const RESULT_STATES: usize = 2;
