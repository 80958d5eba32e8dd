//! Matrices of complex values.

mod coo;
mod files;
mod matrices;
mod spadd;
mod spgemm;
mod spmm;
mod spmv;
mod structure;
mod vectors;
