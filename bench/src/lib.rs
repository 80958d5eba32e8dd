//! The measuring program, `evenpath-bench`.
//!
//! * [`arguments`]: devices, types and matrices as the command line names them;
//! * [`input`]: matrices from files, with a progress bar, or generated; random vectors;
//! * [`measure`]: times, rates, and the copy rate they are compared with;
//! * [`peers`]: other libraries, opened at run time;
//! * [`report`]: results as text or as JSON, with a verdict; [`program`]: from the command line to the exit code;
//! * [`suite`]: sets of matrices; [`statistics`]: what many measurements come to;
//! * [`cases`]: every operation measured alike, for the program's `suite`; [`results`]: the files that it writes;
//!   [`page`]: what is made of them;
//! * [`study`]: the sources' experiments;
//! * [`plot`]: plots as SVG;
//! * [`sequences`]: sequences to measure primitives with;
//! * [`command`]: the program's commands;
//! * one module an operation: what it has to do, and whether a result is right; [`primitives`] has those on sequences.

pub mod cases;
pub mod command;
pub mod hisparse;
pub mod page;
pub mod peers;
pub mod plot;
pub mod primitives;
pub mod results;
pub mod sequences;
pub mod spadd;
pub mod spgemm;
pub mod spmm;
pub mod spmv;
pub mod statistics;
pub mod study;
pub mod suite;

pub use evenpath_bench_support::{arguments, input, measure, program, report};
