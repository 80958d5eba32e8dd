//! Direct solution of sparse systems by libraries that factorize: faer on the CPU, cuDSS on an NVIDIA GPU.

mod check;
mod columns;
mod cudss;
mod engine;
mod equilibrate;
mod factors;
mod host;
mod info;
mod options;
mod solver;
mod symmetry;
mod value;

pub use info::{DirectBackend, DirectInfo};
pub use options::{DirectOptions, Factorization};
pub use solver::DirectSolver;
pub use value::DirectValue;
