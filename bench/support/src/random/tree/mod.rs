//! Stand-ins for the matrices of Figure 7.1 of the thesis on HiSparse (Derler 2016), which have its row lengths and its
//! trees: the same number of inner nodes and leaves, with as many entries.
//!
//! A matrix is divided into strips of 128 rows. Row lengths come from a law that has the published mean, deviation and
//! maximum. The published leaves are divided among the strips in proportion to their nonzeros; their columns are drawn from
//! tiles around the diagonal, a tile being the part below one inner node. Each row then takes its nonzeros from the leaves of
//! its strip, in runs.

mod figure;
mod lengths;
mod matrix;
mod plan;
mod rows;
mod shares;
mod target;

pub use figure::{PublishedNodes, PublishedRows, PublishedTree};
pub use matrix::{ParseTreeError, TreeMatrix};
