//! Sparse matrix times sparse matrix.

mod call;
mod functions;
mod measure;
