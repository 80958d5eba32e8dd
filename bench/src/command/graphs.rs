//! Algorithms on graphs: measured, or the graphs written for other programs.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use evenpath::device::DeviceKind;
use evenpath::io::{WriteOptions, write_matrix_market};

use super::operations::{self, Cases, GRAPHS};
use super::options::Options;
use crate::operations::Case;
use crate::operations::graphs::{Algorithm, Graph};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Algorithms, by name.
    #[arg(long, value_enum, value_delimiter = ',', default_values = Algorithm::ALL.map(Algorithm::name))]
    algorithm: Vec<Algorithm>,
    /// Instead of measuring, write the graphs to this folder as Matrix Market files, with both directions of each edge, and print the
    /// vertex from which searches begin.
    #[arg(long, value_name = "FOLDER")]
    write: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

impl Cases for Arguments {
    const KINDS: &[&str] = &GRAPHS;

    fn options(&self) -> &Options {
        &self.options
    }

    fn cases(&self, _: DeviceKind) -> Result<Vec<Case>, String> {
        Ok(self.algorithm.iter().copied().map(Case::Graphs).collect())
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    match &arguments.write {
        Some(folder) => write(arguments, folder),
        None => operations::run(arguments),
    }
}

fn write(arguments: &Arguments, folder: &Path) -> Result<ExitCode, Box<dyn Error>> {
    for (_, source) in arguments.options.sources(&GRAPHS)? {
        let mut matrix = source.load()?;
        matrix.canonicalize();
        let graph = Graph::new(&matrix)?;
        let name = source.to_string().replace(|letter: char| !letter.is_alphanumeric(), "-");
        let path = folder.join(name).with_extension("mtx");
        write_matrix_market(&path, graph.edges.view(), WriteOptions::default())?;
        println!("{}: {} edges, source {}", path.display(), graph.edges.nnz(), graph.source);
    }
    Ok(ExitCode::SUCCESS)
}
