//! Sparse matrix times dense vector.

mod batch;
mod direct;
mod half;
mod hot_columns;
mod infinite;
mod lanes_in_blocks;
mod light;
mod methods;
mod mixed;
mod narrow_columns;
mod products;
mod sliced_ell;
mod transposed;
mod tuning;
