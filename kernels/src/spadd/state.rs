//! The state of a sum in two phases.

/// Words of the state: [`CutPath`](super::CutPath) sets them to zero.
pub const fn state_words(tiles: u32) -> usize {
    GROUPS + tiles.div_ceil(GROUP) as usize
}

/// The state's word that holds the number of results, once [`WalkPath`](super::WalkPath) has finished.
pub const RESULTS: usize = 0;
/// The state's words to which [`CountDescents`](super::CountDescents) adds for A and for B.
pub const DESCENTS: [usize; 2] = [1, 2];
/// The first word of the state with the results of a group of tiles.
pub(super) const GROUPS: usize = 3;
/// Tiles in a group. With the groups' results, no block adds up those of more tiles.
pub(super) const GROUP: u32 = 256;
