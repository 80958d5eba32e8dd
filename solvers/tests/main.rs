//! Solvers on every device that is present, against dense references.

mod support;

mod amg;
mod cg;
mod complex;
mod direct;
#[cfg(feature = "distributed")]
mod distributed_amg;
mod eigenvalues;
mod injected_failures;
mod least_squares;
mod methods;
mod multi;
mod one_block;
mod outcomes;
mod pipelined;
mod preconditioners;
#[cfg(feature = "distributed")]
mod ranks;
mod same_bits;
