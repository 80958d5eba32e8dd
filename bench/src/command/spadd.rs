//! C = 1.5 A - 0.5 B for sparse matrices, by what is added.

use std::error::Error;
use std::process::ExitCode;

use super::options::Options;
use crate::operations::Case;
use crate::operations::spadd::Addend;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Matrix added to each matrix.
    #[arg(long, value_delimiter = ',', default_values = Addend::ALL.map(Addend::name))]
    addend: Vec<Addend>,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let Arguments { addend, options } = arguments;
    options.run(&[], |_| Ok(addend.iter().copied().map(Case::Spadd).collect()))
}
