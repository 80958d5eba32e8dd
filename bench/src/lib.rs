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

mod command;
mod csrmv;
mod distributed;
mod markdown;
mod operations;
mod page;
mod peers;
mod plot;
mod primitives;
mod results;
mod run;
mod scale;
mod sequences;
mod statistics;
mod study;
mod suite;

pub use command::main;

use evenpath_bench_support::{arguments, generated, input, measure, program, random, report};
