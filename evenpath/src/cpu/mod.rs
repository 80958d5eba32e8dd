//! The operations on the CPU.

mod spmv;

pub(crate) use spmv::{spmv, spmv_tiles};
