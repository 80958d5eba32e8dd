//! Sparse matrix times sparse matrix.

mod hypersparse;
mod mixed;
mod plans;
mod products;
mod row_tiles;
mod two_level_sort;
