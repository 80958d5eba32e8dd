//! BSR: conversions, and products on every device.

mod conversion;
mod spmm;
mod spmv;
mod support;
