//! Solvers on every device that is present, against dense references.

mod support;

mod amg;
mod cg;
mod least_squares;
mod methods;
mod outcomes;
mod pipelined;
#[cfg(feature = "distributed")]
mod ranks;
