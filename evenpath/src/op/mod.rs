//! Operations on matrices and vectors in a device's memory: plan, launch, result.

mod device_csr;
mod error;
mod radix_sort;
pub mod sort;
mod spmv;

pub use device_csr::DeviceCsr;
pub use error::OpError;
pub(crate) use sort::{Comparison, Key, SortKey, SortValue};
pub use spmv::{SpmvMethod, SpmvOptions, SpmvPlan, SpmvPlanInfo};
