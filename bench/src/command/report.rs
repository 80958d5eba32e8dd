use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::page::Page;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder with files of results (*.jsonl), as written by `suite`; they are read in the order of their names.
    #[arg(long, value_name = "FOLDER", default_value = "docs/performance/results")]
    results: PathBuf,
    /// The output folder for the page, README.md, and its plots.
    #[arg(long, value_name = "FOLDER", default_value = "docs/performance")]
    out: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let page = Page::of_folder(&arguments.results)?;
    page.write(&arguments.out)?;
    eprintln!("{}: README.md and {} plots", arguments.out.display(), page.plots.len());
    Ok(ExitCode::SUCCESS)
}
