//! Operations on matrices in a device's memory: plan, launch, result.

mod device_csr;
mod error;
pub mod scan;
mod spmv;

pub use device_csr::DeviceCsr;
pub use error::OpError;
pub use spmv::{SpmvMethod, SpmvOptions, SpmvPlan, SpmvPlanInfo};
