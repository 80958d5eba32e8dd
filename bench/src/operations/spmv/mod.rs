//! y = αAx + βy: ways, and measurements beside other libraries.

mod measure;
mod way;

pub(crate) use evenpath_bench_support::spmv::{Reference, check, work};
pub(crate) use measure::{Product, measure};
pub(crate) use way::Way;
