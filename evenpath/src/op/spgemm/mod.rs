//! Sparse matrix times sparse matrix.

mod base;
mod calls;
mod choose;
mod cpu;
mod hypersparse;
mod info;
mod masked;
mod method;
mod mixed;
mod model;
mod options;
mod plan;
mod row_tiles;
mod row_wise;
mod semiring;
mod strategy;
mod symbolic;
mod two_level_sort;

pub use info::SpgemmPlanInfo;
pub use method::SpgemmMethod;
pub use options::SpgemmOptions;
pub use plan::SpgemmPlan;
#[cfg(feature = "lab")]
pub use two_level_sort::SpgemmPhases;
#[cfg(feature = "lab")]
pub(crate) use two_level_sort::measure as measure_two_level_sort;
