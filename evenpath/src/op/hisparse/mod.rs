//! Operations on a [`HiSparse`](crate::HiSparse), in host memory and on a device.

mod add;
mod convert;
mod device;
mod entries;
mod frozen;
mod host;
mod leaves;
mod method;
mod options;
mod product;
mod queue;
mod spmm;
mod spmv;
mod tree;

pub use device::DeviceHiSparse;
pub use method::{HiSparseSpgemmMethod, HiSparseSpmvMethod};
pub use options::{HiSparseQueuedOptions, HiSparseSpgemmOptions, HiSparseSpmmOptions, HiSparseSpmvOptions};
pub use queue::{HiSparseQueuedPlan, HiSparseQueuedPlanInfo};
pub use spmm::{HiSparseSpmmPlan, HiSparseSpmmPlanInfo};
pub use spmv::{HiSparseSpmvPlan, HiSparseSpmvPlanInfo};
