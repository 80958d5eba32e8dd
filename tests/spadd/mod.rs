//! Sums and other element-wise operations of sparse matrices.

mod one_pass;
mod sums;
