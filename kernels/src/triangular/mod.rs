//! Solutions of triangular systems, row by row, each after the rows that its entries refer to.
//!
//! Rows are sorted by *level*: a row is one level above the highest of the rows that it needs. Rows of one level do not need each
//! other (Naumov, NVIDIA technical report NVR-2011-001, 2011). Long rows are cut into pieces, which other groups of lanes sum. Rows
//! and pieces are *units*; the pieces of a row are a *step* before it.

mod by_levels;
mod by_tickets;
mod coefficient;
mod levels;
mod triangle;

pub use by_levels::SolveLevels;
pub use by_tickets::{SolveByTickets, Systems};
pub use coefficient::Coefficient;
pub use levels::FindLevels;
pub use triangle::{
    piece_len, pieces_of, pieces_word, toward_diagonal, FindTriangle, FindZeroPivots, NumberPieces,
    OrderTriangle, SortedTriangle, TriangleEntries, FOUND_WORDS,
};
