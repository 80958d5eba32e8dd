//! Sums and other element-wise operations of sparse matrices.

mod coo;
mod one_pass;
mod sums;
