//! C = AB for sparse matrices: factors, measurements and checks.

mod check;
mod factors;
mod measure;

pub(crate) use check::Check;
pub(crate) use factors::Factors;
pub(crate) use measure::{measure, measure_whole, phase, products};
