//! The measured operations: work, times, and checks of results.

pub(crate) mod hisparse;
pub(crate) mod spadd;
pub(crate) mod spgemm;
pub(crate) mod spmm;
pub(crate) mod spmv;
