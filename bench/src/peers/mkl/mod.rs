//! Intel's MKL on the CPU, on all threads of the machine: inspector-executor SpMV, and operations that make matrices.

mod library;
mod matrices;

pub(super) use library::{LIBRARY, Mkl};
