//! HiSparse beside CSR, by the size of nodes.

use std::error::Error;
use std::process::ExitCode;

use super::options::Options;
use crate::operations::Case;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Rows and columns of a node: 32, 64, 128 or 256.
    #[arg(long, value_delimiter = ',', value_name = "D", default_values = ["128"], value_parser = ["32", "64", "128", "256"])]
    node: Vec<String>,
    #[command(flatten)]
    options: Options,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let nodes = arguments.node.iter().filter_map(|node| node.parse().ok());
    arguments.options.run(&[], |_| Ok(nodes.map(Case::Hisparse).collect()))
}
