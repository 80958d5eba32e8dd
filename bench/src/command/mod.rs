pub(crate) mod matrix_market;
pub(crate) mod primitives;
pub(crate) mod spmv;
