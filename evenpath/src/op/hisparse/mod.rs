//! Operations on a [`HiSparse`](crate::HiSparse), in host memory and on a device.

mod add;
mod convert;
mod device;
mod entries;
mod frozen;
mod host;
mod leaves;
mod queue;
mod spmv;
mod tree;

pub use device::DeviceHiSparse;
pub use queue::{HiSparseQueueOptions, HiSparseSpmvQueues};
pub use spmv::{HiSparseSpmvPlan, HiSparseSpmvPlanInfo};
