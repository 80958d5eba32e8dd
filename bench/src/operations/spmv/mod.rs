//! y = αAx + βy: ways, and measurements beside other libraries.

mod measure;
mod way;

pub(crate) use evenpath_bench_support::spmv::{Reference, check, work};
pub(crate) use measure::{Product, measure, measure_csr};
pub(crate) use way::Way;
