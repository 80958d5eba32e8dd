//! Operations on a [`HiSparse`](crate::HiSparse), in host memory and on a device.

mod convert;
mod device;
mod host;
mod leaves;
mod tree;

pub use device::DeviceHiSparse;
