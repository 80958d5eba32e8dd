//! Solutions of triangular systems.

mod analysis;
pub(super) mod entries;
mod host;
mod info;
mod kernels;
pub(super) mod lanes;
mod method;
mod options;
mod plan;
mod residency;

pub use info::TriangularPlanInfo;
pub use method::TriangularMethod;
pub use options::{Diagonal, Triangle, TriangularOptions};
pub use plan::TriangularPlan;
