//! Sparse linear algebra on NVIDIA GPUs, written entirely in Rust.
//!
//! * [`Csr`] and [`Coo`]: matrices in host memory, validated; [`generate`] makes some, [`io`] reads
//!   and writes Matrix Market files, [`Statistics`] describes how their nonzeros are spread.

#[allow(dead_code)] // Until the CPU device calls it.
mod cpu;
pub mod io;
mod matrix;
mod scalar;

pub use matrix::generate;
pub use matrix::{
    Coo, Csr, CsrView, Duplicates, InvalidCoo, InvalidCsr, MAX_DIMENSION, MatrixError, Row, Rows,
    Statistics,
};
pub use scalar::{Offset, Value};
