//! The measuring program, `evenpath-bench`.
//!
//! * `command`: the commands, with the options that they share;
//! * `operations`: a routine for each operation, which measures a case of it into a row;
//! * `peers`: other libraries, opened at run time;
//! * `results`: rows, and files of them; `run`: all cases over all matrices, printed and written; `page`: the page generated
//!   from the files;
//! * `suite`: sets of matrices; `statistics`: summaries of measurements; `plot`: plots as SVG; `markdown` and `columns`: tables as
//!   text;
//! * `study`: the experiments of publications;
//! * `csrmv`: y = αAx + βy by a few methods side by side, as CSV, after the tool of a publication;
//! * `primitives`: operations on sequences; `sequences`: what they are measured with;
//! * `distributed`: operations over ranks of this machine; `scale`: what products over many ranks move, and a model of their
//!   time.
//!
//! `evenpath-bench-support` has what the main example needs too: arguments, input, times and reports.

mod columns;
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
