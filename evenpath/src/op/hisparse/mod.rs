//! Operations on a [`HiSparse`](crate::HiSparse), in host memory and on a device.

mod device;
mod frozen;
mod host;
mod leaves;
mod spmv;

pub use device::DeviceHiSparse;
pub use spmv::{HiSparseSpmvPlan, HiSparseSpmvPlanInfo};
