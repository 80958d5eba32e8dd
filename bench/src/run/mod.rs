//! From sources of matrices to rows on stdout and in a file: the way of every command that measures matrices.

mod choice;
mod printer;
mod request;
mod runner;
mod summary;

pub(crate) use request::{Request, ValueName};
pub(crate) use runner::run;
