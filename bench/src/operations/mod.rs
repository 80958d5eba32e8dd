//! The measured operations: work, times, and checks of results. A [`Case`] measures one with its options, and gives a row.

mod assembly;
mod bench;
mod case;
mod edges;
pub(crate) mod graphs;
pub(crate) mod hisparse;
mod masked;
pub(crate) mod row_sorting;
mod sddmm;
pub(crate) mod spadd;
pub(crate) mod spgemm;
mod spmm;
pub(crate) mod spmv;
pub(crate) mod threads;
pub(crate) mod triangular;

pub(crate) use bench::{Bench, Measured};
pub(crate) use case::{Case, SampledProduct, SparseProduct, row};
