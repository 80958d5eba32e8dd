//! Sparse matrix times sparse matrix.

pub mod two_level_sort;
