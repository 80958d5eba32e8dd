pub(crate) mod matrix_market;
pub(crate) mod sort;
pub(crate) mod spmv;
