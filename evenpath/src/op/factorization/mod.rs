//! Incomplete factorizations of sparse matrices, and inverses of their diagonal blocks.

mod analysis;
mod blocks;
mod cholesky;
mod info;
mod lu;
mod options;

pub use cholesky::Ic0Plan;
pub use info::FactorizationPlanInfo;
pub use lu::Ilu0Plan;
pub use options::FactorizationOptions;
