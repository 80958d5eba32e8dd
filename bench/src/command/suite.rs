//! Every operation, by what the library chooses.

use std::error::Error;
use std::process::ExitCode;

use super::options::Options;
use crate::operations::Case;
use crate::results::Op;

/// Exit code: 0 if everything was measured, including recorded failures; 1 if a result is wrong, or nothing could be
/// measured; 3 if cases are left, which the same command then resumes from its file.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The operations to measure.
    #[arg(long, value_delimiter = ',', default_values = Op::ALL.map(Op::name))]
    op: Vec<Op>,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let ops = Op::ALL.into_iter().filter(|op| arguments.op.contains(op));
    arguments.options.run(&[], |_| Ok(ops.flat_map(Case::of_suite).collect()))
}
