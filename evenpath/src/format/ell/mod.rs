//! ELL and ELL-R on a device.

mod arrays;
mod ell_r;
mod options;
mod plain;

pub use ell_r::{DeviceEllR, EllR};
pub use options::{EllOptions, XLoads};
pub use plain::DeviceEll;
pub(crate) use plain::slots;
