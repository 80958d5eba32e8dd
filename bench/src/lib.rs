//! The measuring program, `evenpath-bench`.
//!
//! * [`arguments`]: devices, types and matrices on the command line;
//! * [`input`]: matrices from files, with a progress bar, or generated; random vectors; [`generated`]: generated matrices
//!   by name; [`random`]: matrices of random structure;
//! * [`measure`]: times, rates, and the copy rate that they are compared with;
//! * [`peers`]: other libraries, opened at run time;
//! * [`report`]: results as text or as JSON, with a verdict; [`program`]: runs a program from command line to exit
//!   code;
//! * [`suite`]: sets of matrices; [`statistics`]: summaries of measurements;
//! * [`cases`]: measures every operation in the same way, for the command `suite`; [`results`]: the files that it
//!   writes; [`page`]: the page generated from them;
//! * [`study`]: the experiments of publications;
//! * [`csrmv`]: y = αAx + βy by a few methods side by side, as CSV, after the tool of a publication;
//! * `distributed`: operations over ranks of this machine; [`scale`]: what products over many ranks move, and a model of their
//!   time;
//! * [`plot`]: plots as SVG;
//! * [`sequences`]: sequences for measuring primitives;
//! * [`command`]: the commands of the program;
//! * one module per operation, with its work and the check of its result; [`primitives`] has the operations on
//!   sequences.

pub mod cases;
pub mod command;
pub mod csrmv;
mod distributed;
pub mod hisparse;
pub mod page;
pub mod peers;
pub mod plot;
pub mod primitives;
pub mod results;
pub mod scale;
pub mod sequences;
pub mod spadd;
pub mod spgemm;
pub mod spmm;
pub mod spmv;
pub mod statistics;
pub mod study;
pub mod suite;

pub use evenpath_bench_support::{arguments, generated, input, measure, program, random, report};
