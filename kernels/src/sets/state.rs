//! The state of a set operation.

/// Words of a set operation's state for a number of tiles: the next ticket, the size of the result, and
/// the tiles' states of look-back. [`SetPartition`](super::SetPartition) sets them to zero.
pub const fn state_words(tiles: u32) -> usize {
    RESULT_STATES + tiles as usize
}

/// The word that holds the size of the result.
pub const RESULT_SIZE: usize = 1;
/// The first word of the tiles' states.
pub(super) const RESULT_STATES: usize = 2;
