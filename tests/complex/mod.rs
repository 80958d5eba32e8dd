//! Matrices of complex values.

mod files;
mod matrices;
mod spadd;
mod spgemm;
mod spmm;
mod spmv;
mod structure;
