pub(crate) mod matrix_market;
pub(crate) mod scan;
pub(crate) mod sets;
pub(crate) mod sort;
pub(crate) mod spmv;
