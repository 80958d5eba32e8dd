//! What the integration tests share: the devices to run on, and independent oracles.

mod devices;
mod oracle;
mod spmv_check;

pub use devices::{DeviceUnderTest, devices, kernel_devices, tile_len};
pub use oracle::{Expected, spmv};
pub use spmv_check::{check_spmv, vector, with_row_lengths};

/// The README's programs compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
