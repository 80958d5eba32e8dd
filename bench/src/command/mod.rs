pub(crate) mod matrix_market;
pub(crate) mod spmv;
