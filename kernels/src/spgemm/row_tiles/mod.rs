//! Small products in two launches: what these cost otherwise is launches that wait for each other.
//!
//! 1. [`CountProducts`] counts the products of each row of C and, by a look-back, those of the rows before it.
//! 2. [`MultiplyTiles`] cuts the rows of C into tiles whose products fit in a block's shared memory. Each block expands its
//!    tile's products, sorts them by row and column, adds up those of each entry, and finds by a second look-back where its
//!    entries begin in C.
//!
//! The sort is stable and products come in the order of A's entries, so the sum of an entry is added in that order: bitwise as
//! products [row by row](super) do.

mod count;
mod expansion;
mod multiply;

pub use count::{count_state_words, CountProducts, LONGEST, MOST_IN_A_ROW, TOTAL};
pub use multiply::{multiply_state_words, shared_bytes, MultiplyTiles};
