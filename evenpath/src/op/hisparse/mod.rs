//! Operations on a [`HiSparse`](crate::HiSparse), in host memory and on a device.

mod add;
mod convert;
mod device;
mod entries;
mod frozen;
mod host;
mod leaves;
mod method;
mod product;
mod queue;
mod spmm;
mod spmv;
mod tree;

pub use device::DeviceHiSparse;
pub use method::HiSparseSpgemmMethod;
pub use queue::{HiSparseQueueOptions, HiSparseSpmvQueues};
pub use spmm::HiSparseSpmmPlan;
pub use spmv::{HiSparseSpmvMode, HiSparseSpmvOptions, HiSparseSpmvPlan, HiSparseSpmvPlanInfo};
