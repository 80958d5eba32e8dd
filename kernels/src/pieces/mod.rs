//! Rows that are cut into pieces, for kernels with a group of lanes for each row: of nonzeros, or block rows of blocks.
//!
//! A kernel sums the pieces and the other rows at once. Then another launch adds the sums of each row's pieces, in a
//! fixed order, so that results are the same from run to run.

mod add;
mod span;

pub use add::{AddPieces, AddPiecesOfColumns, CutRows};
pub use span::{Pieces, Span};
