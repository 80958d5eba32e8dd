//! What the integration tests share: the devices to run on, and independent oracles.

mod devices;
mod oracle;

pub use devices::{DeviceUnderTest, devices, kernel_devices, tile_len};
pub use oracle::{Expected, spmm, spmv};

/// The README's programs compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
