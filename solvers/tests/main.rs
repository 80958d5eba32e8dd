//! Solvers on every device that is present, against dense references.

mod support;

mod amg;
mod cg;
mod direct;
mod least_squares;
mod methods;
mod outcomes;
mod pipelined;
