//! Solutions of Ax = b by preconditioners and methods of `evenpath-solvers`: set-up, new values, solves, residuals.

mod arguments;
mod bits;
mod measure;
mod preconditioner;
mod row;
mod run;
mod suite;
mod system;

pub(super) use arguments::Arguments;
pub(super) use run::run;
