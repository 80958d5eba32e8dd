//! Products at the entries of a mask: the columns of rows of B are looked up in the row of the mask, and only products that
//! are found there are multiplied.
//!
//! For an entry of A, in row i and column k, row k of B is intersected with row i of the mask. The columns of the shorter are looked
//! up in the longer, by binary search: a *lookup* for each column of the shorter. Rows of both are canonical, so lookups of one
//! entry of A never find the same entry of the mask.
//!
//! 1. [`SpgemmMaskedWeights`] weighs each entry of A: its lookups, plus one. A scan gives the weight before each entry.
//! 2. [`SpgemmMaskedParts`] counts the *parts* of each row. Rows of up to [`TILE`] have one. Heavier ones are cut between
//!    entries of A; each further part has sums of its own, for all entries of the row of the mask.
//! 3. [`SpgemmMaskedMultiply`] has a warp for each tile of the weight: for the rows that begin in it, or a part of a heavy row.
//! 4. [`SpgemmMaskedAddParts`] adds the sums of the parts of heavy rows.
//!
//! The products of a part are added in the order of A's entries, and the sums of parts in the order of parts. Parts depend on the
//! patterns alone, so sums are bitwise the same from run to run.

mod add_parts;
mod lookups;
mod multiply;
mod parts;
mod stage;
mod weights;

pub use add_parts::SpgemmMaskedAddParts;
pub use multiply::SpgemmMaskedMultiply;
pub use parts::{SpgemmMaskedParts, TILE};
pub use weights::SpgemmMaskedWeights;
