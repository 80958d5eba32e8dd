pub(crate) mod hisparse;
pub(crate) mod matrix_market;
pub(crate) mod primitives;
mod selection;
pub(crate) mod spadd;
pub(crate) mod spgemm;
pub(crate) mod spmm;
pub(crate) mod spmv;
pub(crate) mod suite;
