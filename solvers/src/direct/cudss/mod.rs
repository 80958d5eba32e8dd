//! cuDSS, NVIDIA's library of direct solvers, loaded at run time.

mod functions;
mod handles;
mod solver;
#[cfg(test)]
mod stand_in;
#[cfg(test)]
mod tests;
mod types;

pub(super) use functions::Functions;
pub(super) use solver::Cudss;
