//! Matrices whose structure is drawn at random: to fit choices on those of one seed, and to judge them on another; and
//! [stand-ins](TreeMatrix) for published matrices with the same trees; and [large matrices](ShapeMatrix) of further shapes.
//!
//! A seed and a number determine a matrix on every machine and with any number of threads: random numbers are integers,
//! every row has a stream of its own, and floating-point numbers are computed only by operations that IEEE 754 defines
//! exactly and by the functions of the crate `libm`, which is compiled from the same source everywhere.

mod columns;
mod lengths;
mod matrix;
mod pattern;
mod shapes;
mod stream;
mod structure;
mod tree;

pub use matrix::{ParseRandomError, RandomMatrix};
pub use shapes::{ParseShapeError, Shape, ShapeMatrix};
pub use structure::{ColumnLaw, Drift, LengthLaw, Permutation, Stretches, Structure};
pub use tree::{ParseTreeError, PublishedNodes, PublishedRows, PublishedTree, TreeMatrix};
