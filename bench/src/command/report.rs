use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::page::Page;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder with files of results (*.jsonl), as written by `suite`; they are read in the order of their names.
    #[arg(long, value_name = "FOLDER", default_value = "docs/performance/results")]
    results: PathBuf,
    /// The output folder for the summary, README.md, and the folder `measurements` with all other pages, tables and plots.
    #[arg(long, value_name = "FOLDER", default_value = "docs/performance")]
    out: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let page = Page::of_folder(&arguments.results)?;
    page.write(&arguments.out)?;
    eprintln!("{}: {} files", arguments.out.display(), page.files.len());
    Ok(ExitCode::SUCCESS)
}
