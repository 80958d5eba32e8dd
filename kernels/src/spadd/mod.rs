//! Sums, products and masks of two sparse matrices by merge path over (row, column) tuples.
//!
//! The source (Dalton, Baxter, Merrill, Olson, Garland, "Optimizing Sparse Matrix Operations on GPUs using Merge Path", IPDPS
//! 2015, section III-B) takes the balanced path instead, whose diagonals never separate equal tuples. Here they may.
//!
//! The path merges the nonzeros of A and B by row and column, those of A first among equals, and has another item for the
//! end of each row. So a tile has a bounded number of rows too, and empty rows are work like any other. The path's length is
//! the nonzeros of A plus the nonzeros of B plus the rows. Row indices are never stored: the position of row r on the path
//! is the sum of both row offsets and r, and a tile keeps the ends of its rows in shared memory.
//!
//! There are two phases, as in the source. [`CutPath`] finds where tiles begin and [`WalkPath`] walks them: it writes two bits
//! per item, the codes, and counts the results. Then memory is allocated, and [`FillTiles`] writes the pattern, the values,
//! or both; it follows the codes and does not compare columns again. An item has the same code wherever the path is cut. So
//! a pair of equal columns may lie on both sides of a cut, and no diagonal needs the balanced path's star.
//!
//! [`OnePass`] is both phases in one launch, for small matrices: the result has room for as many entries as both have, and a
//! block learns by look-back where its results go. It shares the walk, and what follows it, with the kernels of two phases.

mod codes;
mod cut;
mod descents;
mod fill;
mod inputs;
mod one_pass;
mod origin;
mod output;
mod share;
mod tile;
mod walk;

pub use cut::CutPath;
pub use descents::CountDescents;
pub use fill::FillTiles;
pub use one_pass::{one_pass_state_words, OnePass};
pub use output::Output;
pub use walk::WalkPath;

use crate::{Offset, Pattern};

/// Which items of the path make results, and their values, as bits of a kernel's parameter.
pub mod keep {
    /// Nonzeros of A without a nonzero of B in the same row and column.
    pub const A_ONLY: u32 = 1;
    /// Pairs of nonzeros of A and B in the same row and column; not together with [`B`].
    pub const PAIRS: u32 = 2;
    /// Nonzeros of B, each with the nonzero of A in the same row and column if there is one.
    pub const B: u32 = 4;
    /// The value of a pair is αa · βb; without it, αa + βb.
    pub const MULTIPLY: u32 = 8;
    /// The value of a pair is αa.
    pub const FIRST: u32 = 16;
}

/// The number of items on the path of two matrices.
#[inline(always)]
pub fn path_items<O: Offset>(a: Pattern<O>, b: Pattern<O>) -> u64 {
    a.nonzeros + b.nonzeros + u64::from(a.rows)
}

/// Words of codes per tile of `tile_items` items, a multiple of 31.
pub const fn code_words(tile_items: u32) -> usize {
    (tile_items / codes::WORD_ITEMS) as usize
}

/// Words of the state: [`CutPath`] sets them to zero.
pub const fn state_words(tiles: u32) -> usize {
    GROUPS + tiles.div_ceil(GROUP) as usize
}

/// The state's word that holds the number of results, once [`WalkPath`] has finished.
pub const RESULTS: usize = 0;
/// The state's words to which [`CountDescents`] adds for A and for B.
pub const DESCENTS: [usize; 2] = [1, 2];
/// The first word of the state with the results of a group of tiles.
const GROUPS: usize = 3;
/// Tiles in a group. With the groups' results, no block adds up those of more tiles.
const GROUP: u32 = 256;
