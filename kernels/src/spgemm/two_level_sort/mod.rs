//! C = A·B by sorting products on two levels (Dalton, Baxter, Merrill, Olson, Garland, "Optimizing Sparse Matrix
//! Operations on GPUs using Merge Path", IPDPS 2015, section III-C).
//!
//! Products are numbered in the order of A's entries and cut into tiles of equal length, for rows of any length:
//!
//! 1. [`WeighEntries`] and [`ListEntries`], with a scan between: which entry of A makes each tile's first product.
//! 2. [`SortProducts`]: each block expands a tile's products and sorts them; those with equal row and column become one
//!    entry. The permutation is kept, with 16 bits per product.
//! 3. Products come sorted by row, so only rows that are cut by tiles have entries left to sort. [`CollectCutEntries`], a
//!    radix sort of keys with a permutation, and [`NumberCutEntries`] do that. The paper sorts tiles by column alone, and then
//!    all entries: [`SortProductsByColumn`] and [`CollectEntries`] do so, in place of steps 2 and 3.
//! 4. With the row offsets of C, [`PlaceTiles`] and [`PlaceCutEntries`] write its columns.
//! 5. [`AddProducts`] expands again, computes the products, and adds them up in sorted order. The sums of whole rows go to
//!    C, those of cut rows to their places in the global sort.
//! 6. A reduction by flags adds up the sums that several tiles have for the same entry, and [`PlaceCutValues`] stores the
//!    result in C.
//!
//! Only steps 5 and 6 depend on values. The order in which products are added depends only on the patterns.
//!
//! [`ExpandProducts`] and [`SplitKeys`] are for the method that the paper compares with: one sort of all products.

mod block_sort;
mod column_sort;
mod cut_rows;
mod expansion;
mod global_sort;
mod products;
mod setup;

pub use block_sort::{shared_bytes, SortProducts, TILE_WORDS};
pub use column_sort::{CollectEntries, SortProductsByColumn};
pub use cut_rows::{CollectCutEntries, NumberCutEntries, PlaceCutEntries, PlaceCutValues};
pub use expansion::ListedEntries;
pub use global_sort::{ExpandProducts, SplitKeys};
pub use products::{AddProducts, PlaceTiles, SortedTiles};
pub use setup::{ListEntries, WeighEntries};
