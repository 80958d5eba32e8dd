//! Sums of two sparse matrices, and other element-wise operations that merge their rows.

mod coo;
mod coordinates;
mod fill;
mod info;
mod method;
mod one_pass;
mod operands;
mod path;
mod plan;

pub use info::ElementwisePlanInfo;
pub use method::SpaddMethod;
pub use plan::ElementwisePlan;
