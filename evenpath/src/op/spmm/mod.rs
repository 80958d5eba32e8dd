//! Sparse matrix times dense matrix.

mod combine;
mod info;
mod kernels;
mod long_rows;
mod operand;
mod options;
mod plan;
mod product;
mod shape;

pub(super) use combine::dense_with_numbers;
pub use info::SpmmPlanInfo;
pub use operand::SpmmOperand;
pub use options::SpmmOptions;
pub use plan::SpmmPlan;
