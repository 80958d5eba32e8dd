//! Solutions of triangular systems.

mod solve;
mod sums;
mod triangle;

pub(crate) use solve::solve_triangle;
pub(crate) use triangle::Triangle;
