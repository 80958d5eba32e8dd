//! What the measuring program and the example `spmv` share. It is a crate of its own so that the example builds without
//! the rest of the measuring program.
//!
//! * [`arguments`]: devices, types and matrices as the command line names them;
//! * [`input`]: matrices from files, with a progress bar, or generated; random vectors;
//! * [`measure`]: times, rates, and the copy rate they are compared with;
//! * [`report`]: results as text or as JSON, with a verdict; [`program`]: from the command line to the exit code;
//! * [`spmv`]: the work of y = Ax, and whether a result is right.

pub mod arguments;
pub mod input;
pub mod measure;
pub mod program;
pub mod report;
pub mod spmv;
