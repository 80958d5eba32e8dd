//! Sparse matrix times sparse matrix.

mod hypersparse;
mod plans;
mod products;
mod row_tiles;
mod two_level_sort;
