//! Sparse matrix times dense matrix.

mod bsr;
mod column;
mod combine;
mod info;
mod kernels;
mod long_rows;
mod options;
mod plan;
mod product;
mod schedule;
mod semiring;
mod shape;

pub(super) use column::Column;
pub(super) use combine::dense_with_numbers;
pub use info::SpmmPlanInfo;
pub use options::SpmmOptions;
pub use plan::SpmmPlan;
