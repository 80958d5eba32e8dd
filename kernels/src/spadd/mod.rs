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
//! per item, the kinds, and counts the results. Then memory is allocated, and [`FillTiles`] writes the pattern, the values,
//! or both; it follows the kinds and does not compare columns again. An item has the same kind wherever the path is cut. So
//! a pair of equal columns may lie on both sides of a cut, and no diagonal needs the balanced path's star.
//!
//! [`OnePass`] is both phases in one launch, for small matrices: the result has room for the entries of both, and a
//! block finds the place of its results by look-back. It shares the walk and the output with the kernels of two phases.
//!
//! [`coordinates`] makes the keys of the source's own method, the union of two sets of coordinates by the balanced path
//! ([`sets`](crate::sets)), and of the global sort with which it compares.

pub mod coordinates;
mod cut;
mod descents;
mod fill;
mod inputs;
mod item_kinds;
pub mod keep;
mod one_pass;
mod origin;
mod output;
mod share;
mod state;
mod tile;
mod walk;

pub use coordinates::{CoordinateKeys, SplitCoordinates};
pub use cut::{path_items, CutPath};
pub use descents::CountDescents;
pub use fill::FillTiles;
pub use item_kinds::kind_words;
pub use one_pass::{one_pass_state_words, OnePass};
pub use output::SpaddOutput;
pub use state::{state_words, DESCENTS, RESULTS};
pub use walk::WalkPath;
