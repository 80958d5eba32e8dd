//! Sparse matrix times sparse matrix.

mod hypersparse;
mod masked;
mod mixed;
mod plans;
mod products;
mod row_tiles;
mod two_level_sort;
