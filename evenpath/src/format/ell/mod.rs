//! ELL and ELL-R on a device.

mod arrays;
mod ell_r;
mod plain;
mod variant;

pub use ell_r::{DeviceEllR, EllR};
pub use plain::DeviceEll;
pub(crate) use plain::slots;
#[cfg(feature = "lab")]
pub(crate) use variant::Variant as EllVariant;
