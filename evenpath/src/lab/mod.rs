//! Calls that only measure or test: the interface of the crate `evenpath-lab`.

mod diagnostics;
mod ell;
mod phases;

pub use diagnostics::{Diagnostics, measure_driver_calls};
pub use ell::{EllOptions, EllVariants, XInSequence, XLoads};
pub use phases::two_level_sort_phases;

pub use crate::op::SpgemmPhases;

/// Number of entries per warp in SpMV of coordinates.
pub const COO_INTERVAL: u32 = crate::policy::COO_INTERVAL;
