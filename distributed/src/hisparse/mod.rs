//! Trees over ranks.

mod build;
mod cut;
mod matrix;
mod side;

pub use matrix::DistributedHiSparse;
pub(crate) use side::Side;
