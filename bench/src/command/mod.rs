pub(crate) mod spmv;
