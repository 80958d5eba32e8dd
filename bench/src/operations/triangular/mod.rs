//! Incomplete factorizations, and solves with their factors.

mod check;
mod measure;
mod step;
mod system;

pub(crate) use measure::{RUNS, measure};
pub(crate) use step::{Step, Triangular};
