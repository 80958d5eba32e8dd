//! Sums, products and masks of two sparse matrices by balanced path over (row, column) tuples (Dalton, Baxter, Merrill,
//! Olson, Garland, "Optimizing Sparse Matrix Operations on GPUs using Merge Path", IPDPS 2015, sections III-B and III-D).
//!
//! The path merges the nonzeros of A and B by row and column, those of A first among equals, and has an item for the end
//! of every row besides: so a tile has a bounded number of rows too, and empty rows are work like any other. Its length is
//! nonzeros of A, plus nonzeros of B, plus rows. Row indices are never stored: row r begins on the path where both
//! matrices' row offsets and r say, and a tile keeps the ends of its rows in shared memory.
//!
//! Two phases, as in the paper. [`CutPath`] finds where tiles begin and [`WalkPath`] walks them: it writes two bits an
//! item, the codes, and counts the results. Then memory is allocated, and [`FillTiles`] writes the pattern, the
//! values, or both; it follows the codes and compares no columns again. As an item has its code wherever the path is cut,
//! a pair of equal columns may lie on both sides of a cut, and no diagonal needs the paper's star.

mod codes;
mod cut;
mod descents;
mod fill;
mod origin;
mod tile;
mod walk;

pub use cut::CutPath;
pub use descents::CountDescents;
pub use fill::FillTiles;
pub use walk::WalkPath;

/// What of the path makes a result, as bits of a kernel's parameter, and what its value is.
pub mod keep {
    /// Nonzeros of A whose row and column B has not.
    pub const A_ONLY: u32 = 1;
    /// Pairs of nonzeros of A and B of the same row and column; not together with [`B`].
    pub const PAIRS: u32 = 2;
    /// Nonzeros of B, each with that of A of the same row and column if there is one.
    pub const B: u32 = 4;
    /// The value of a pair is αa · βb; without it, αa + βb.
    pub const MULTIPLY: u32 = 8;
    /// The value of a pair is αa.
    pub const FIRST: u32 = 16;
}

/// What [`FillTiles`] writes, as bits of a kernel's parameter.
pub mod write {
    /// Row offsets and column indices.
    pub const PATTERN: u32 = 1;
    /// Values.
    pub const VALUES: u32 = 2;
}

/// Words of codes of a tile of so many items, a multiple of 31.
pub const fn code_words(tile_items: u32) -> usize {
    (tile_items / codes::WORD_ITEMS) as usize
}

/// Words of the state: [`CutPath`] sets them to zero.
pub const fn state_words(tiles: u32) -> usize {
    GROUPS + tiles.div_ceil(GROUP) as usize
}

/// The state's word that holds the number of results, once [`WalkPath`] is through.
pub const RESULTS: usize = 0;
/// The state's words to which [`CountDescents`] adds for A and for B.
pub const DESCENTS: [usize; 2] = [1, 2];
/// From here on, the results of each group of tiles.
const GROUPS: usize = 3;
/// Tiles in a group: as the groups' results are there, nobody adds up those of more tiles.
const GROUP: u32 = 256;
