//! The measured operations: work, times, and checks of results. A [`Case`] measures one with its options, and gives a row.

mod bench;
mod case;
pub(crate) mod hisparse;
pub(crate) mod row_sorting;
mod sddmm;
pub(crate) mod spadd;
pub(crate) mod spgemm;
mod spmm;
pub(crate) mod spmv;
pub(crate) mod threads;

pub(crate) use bench::{Bench, Measured};
pub(crate) use case::{Case, SparseProduct, row};
