//! Solvers on every device that is present, against dense references.

mod support;

mod cg;
mod methods;
mod outcomes;
