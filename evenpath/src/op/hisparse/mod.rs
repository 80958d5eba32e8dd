//! Operations on a [`HiSparse`](crate::HiSparse), in host memory and on a device.

mod device;
mod host;
mod leaves;

pub use device::DeviceHiSparse;
