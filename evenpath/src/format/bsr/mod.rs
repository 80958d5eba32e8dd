//! BSR on a device.

mod diagonal;
mod matrix;
mod spmv;

pub use matrix::DeviceBsr;
