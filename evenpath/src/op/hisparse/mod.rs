//! Operations on a [`HiSparse`](crate::HiSparse), in host memory and on a device.

mod add;
mod binning;
mod block;
mod convert;
mod device;
mod entries;
mod equal_nodes;
mod frozen;
mod host;
mod leaves;
mod levels_sum;
mod method;
mod options;
mod places;
mod product;
mod queue;
mod queued_entries;
mod queued_sum;
mod queues;
mod share;
mod sorted_entries;
mod spmm;
mod spmv;
mod tree;

pub use device::DeviceHiSparse;
pub use method::{ConversionMethod, SpaddMethod, SpgemmMethod, SpmvMethod};
pub use options::{ConversionOptions, QueuedOptions, SpaddOptions, SpgemmOptions, SpmmOptions, SpmvOptions};
pub use queue::{QueuedPlan, QueuedPlanInfo};
pub use spmm::{SpmmPlan, SpmmPlanInfo};
pub use spmv::{SpmvPlan, SpmvPlanInfo};
