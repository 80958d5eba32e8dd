//! Sparse matrix times dense matrix.

mod products;
mod schedules;
