//! Products in semirings, on every device.

mod oracle;
mod refused;
mod spgemm;
mod spmm;
mod spmv;
