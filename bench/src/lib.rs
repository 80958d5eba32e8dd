//! How evenpath measures: the program `evenpath-bench`, and what the examples share with it.
//!
//! * [`arguments`]: devices, types and matrices as the command line names them;
//! * [`input`]: matrices from files, with a progress bar, or generated; random vectors;
//! * [`measure`]: times, rates, and the copy rate they are compared with;
//! * [`peers`]: other libraries, opened at run time;
//! * [`report`]: what an example prints, as text or as JSON;
//! * [`suite`]: sets of matrices; [`statistics`]: what many measurements come to;
//! * [`cases`]: every operation measured alike, for the program's `suite`; [`results`]: the files that it writes;
//!   [`page`]: what is made of them;
//! * [`study`]: the sources' experiments;
//! * [`plot`]: plots as SVG;
//! * [`program`]: an example's way from the command line to the exit code;
//! * [`example`]: what the examples on sequences share; [`matrix_example`]: those of SpMV;
//! * [`sequences`]: sequences to measure primitives with;
//! * [`command`]: the program's commands;
//! * one module an operation: what it has to do, and whether a result is right; [`primitives`] has those on sequences.

pub mod arguments;
pub mod cases;
pub mod command;
pub mod example;
pub mod hisparse;
pub mod input;
pub mod matrix_example;
pub mod measure;
pub mod page;
pub mod peers;
pub mod plot;
pub mod primitives;
pub mod program;
pub mod report;
pub mod results;
pub mod sequences;
pub mod spadd;
pub mod spgemm;
pub mod spmm;
pub mod spmv;
pub mod statistics;
pub mod study;
pub mod suite;
