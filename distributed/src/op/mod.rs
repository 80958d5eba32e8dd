//! Operations on distributed matrices. Each is collective.

mod hisparse;
mod spadd;
mod spgemm;
mod spmm;
mod spmv;
mod spmv_transposed;

pub use hisparse::{HiSparseSpmvPlan, HiSparseSpmvTransposedPlan};
pub use spgemm::SpgemmOptions;
pub use spmm::SpmmPlan;
pub use spmv::SpmvPlan;
pub use spmv_transposed::SpmvTransposedPlan;
