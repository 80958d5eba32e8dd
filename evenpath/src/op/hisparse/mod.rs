//! Operations on a [`HiSparse`](crate::HiSparse), in host memory and on a device.

mod device;
mod host;
mod leaves;
mod queue;

pub use device::DeviceHiSparse;
pub use queue::{HiSparseQueueOptions, HiSparseSpmvQueues};
