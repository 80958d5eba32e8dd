//! C = A·B by sorting products on two levels (Dalton, Baxter, Merrill, Olson, Garland, "Optimizing Sparse Matrix
//! Operations on GPUs using Merge Path", IPDPS 2015, section III-C).
//!
//! Products are numbered in the order of A's entries and cut into tiles of one length, whatever the rows' lengths are:
//!
//! 1. [`WeighEntries`] and [`ListEntries`], with a scan between: which entry of A makes each tile's first product.
//! 2. [`SortProducts`]: each block expands a tile's products and sorts them; equal ones become one entry. Its permutation
//!    is kept, of 16 bits a product.
//! 3. Products come sorted by row, so only rows that tiles cut have entries left to sort. [`CollectCutEntries`], a radix
//!    sort of keys with a permutation, and [`NumberCutEntries`] do that; the paper sorts all.
//! 4. With the row offsets of C, [`PlaceTiles`] and [`PlaceCutEntries`] write its columns.
//! 5. [`AddProducts`]: expands once more, computes the products, and adds them up in sorted order. The sums of whole rows
//!    go to C, those of cut rows to where the global sort wants them.
//! 6. A reduction by flags adds up what several tiles have of the same entry, and [`PlaceCutValues`] puts it into C.
//!
//! Steps 5 and 6 alone depend on values. In which order products are added depends on nothing but the patterns.

mod block_sort;
mod cut_rows;
mod expansion;
mod products;
mod setup;

pub use block_sort::{shared_bytes, SortProducts, TILE_WORDS};
pub use cut_rows::{CollectCutEntries, NumberCutEntries, PlaceCutEntries, PlaceCutValues};
pub use products::{AddProducts, PlaceTiles};
pub use setup::{ListEntries, WeighEntries};
