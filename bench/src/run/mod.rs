//! Runs cases over matrices, and writes their rows to stdout and to a file.

mod printer;
mod request;
mod runner;
mod summary;

pub(crate) use request::{Request, ValueName};
pub(crate) use runner::run;
