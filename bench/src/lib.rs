//! How evenpath measures: the program `evenpath-bench`, and what the examples share with it.

pub mod measure;
pub mod sort;
pub mod spmv;
