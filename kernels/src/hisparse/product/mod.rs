//! Products of two trees: leaves are multiplied like entries of a sparse matrix, and two leaves like sparse matrices of
//! their own, by rows (Gustavson, "Two fast algorithms for sparse matrices", 1978).
//!
//! Each leaf (i, k) of A and each leaf (k, j) of B form a *pair*. Pairs are sorted by the leaf (i, j) of C and then by k. A
//! block computes a leaf of C: it finds the pattern from the bitmaps of its pairs, and accumulates the products in shared
//! memory. A sum belongs to one thread, which adds its products by ascending column of A.

mod bits;
mod candidates;
mod count;
mod fill;
mod leaf_pairs;
mod pairs;
mod pattern;
mod staged;
pub mod state;
mod sums;

pub use candidates::{HiSparseListCandidates, HiSparseListFilled, HiSparseMarkCandidates};
pub use count::HiSparseCountProducts;
pub use fill::{product_shared_bytes, HiSparseMultiplyLeaves};
pub use leaf_pairs::LeafPairs;
pub use pairs::{HiSparseCountPairs, HiSparseListPairs};
pub use pattern::pattern_shared_bytes;
