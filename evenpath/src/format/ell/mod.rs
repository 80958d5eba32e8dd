//! ELL and ELL-R on a device.

mod arrays;
mod ell;
mod ell_r;
mod options;

pub use ell::DeviceEll;
pub(crate) use ell::slots;
pub use ell_r::{DeviceEllR, EllR};
pub use options::{EllOptions, XLoads};
