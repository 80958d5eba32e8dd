//! Operations on the CPU: the fallback, and the reference for every other device.
//!
//! Each is decomposed as on the GPU, into tiles of equal work that do not depend on the number of
//! threads: results are the same to the last bit with any number.

mod merge_path;
mod sort;
mod spmv;

pub(crate) use sort::{sort, sort_pairs};
pub(crate) use spmv::{spmv, spmv_tiles};
