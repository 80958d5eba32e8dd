//! y = Ax from every format: times, bytes and padding.

use std::error::Error;
use std::process::ExitCode;

use evenpath::ell::PaddingLimit;

use super::options::Options;
use crate::operations::Case;
use crate::operations::spmv::{Product, Way};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Limit on padding: a padded format may take this many times the memory of the nonzeros.
    #[arg(long, value_name = "TIMES", default_value_t = 3)]
    padding: u32,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let ways = Way::formats(PaddingLimit::Times(arguments.padding));
    arguments.options.run(&[], |_| Ok(vec![Case::Spmv(Product::direct(ways))]))
}
