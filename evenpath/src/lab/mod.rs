//! Calls that only measure or test: the interface of the crate `evenpath-lab`.

mod diagnostics;
mod ell;
mod lanes;
mod light;
mod phases;
mod published;
mod tiles;

pub use diagnostics::{Diagnostics, measure_driver_calls};
pub use ell::{EllOptions, EllVariants, XInSequence, XLoads};
pub use lanes::LanesInBlocks;
pub use light::LightByRows;
pub use phases::two_level_sort_phases;
pub use published::table2;
pub use tiles::COO_INTERVAL;

pub use crate::op::SpgemmPhases;
