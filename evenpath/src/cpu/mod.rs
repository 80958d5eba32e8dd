//! Operations on the CPU: the fallback, and the reference for every other device.
//!
//! Each is decomposed as on the GPU, into tiles of equal work that do not depend on the number of
//! threads: results are the same to the last bit with any number.

mod merge_path;
mod scan;
mod spmv;

pub(crate) use scan::{scan, segmented_scan};
pub(crate) use spmv::{spmv, spmv_tiles};
