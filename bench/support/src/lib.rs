//! Shared by the measuring program and the example `spmv`. It is a separate crate, so that the example builds without
//! the rest of the measuring program.
//!
//! * [`arguments`]: devices, types and matrices on the command line;
//! * [`input`]: matrices from files, with a progress bar, or generated; random vectors;
//! * [`random`]: matrices whose structure is drawn at random, and stand-ins for published trees; [`full_rows`]: matrices
//!   of which a few rows are full; [`generated`]: these and the other generated matrices, by name;
//! * [`measure`]: times, rates, and the copy rate that they are compared with;
//! * [`report`]: results as text or as JSON, with a verdict; [`program`]: runs a program from command line to exit
//!   code;
//! * [`timing`]: how runs are timed; [`statistics`]: medians, and the spread of times;
//! * [`spmv`]: the work of y = Ax, and checks of results.

pub mod arguments;
pub mod full_rows;
pub mod generated;
pub mod input;
pub mod measure;
pub mod program;
pub mod random;
pub mod report;
pub mod spmv;
pub mod statistics;
pub mod timing;
