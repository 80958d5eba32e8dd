//! Options of the commands that measure over matrices: matrices, types, device, peers, output.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use evenpath::Device;
use evenpath::device::DeviceKind;

use crate::arguments::DeviceChoice;
use crate::measure::{Repetitions, copy_rate};
use crate::operations::{Bench, Case};
use crate::peers::{PeerName, Peers};
use crate::results::Setting;
use crate::run::{Request, ValueName, run};
use crate::suite::{FOLDER_VARIABLE, NonzeroRange, RandomSuite, Source, Suite, SuiteOptions};

/// All options of a command that measures cases over matrices.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(flatten)]
    matrices: MatrixSelection,
    /// Types of the values. The 16-bit types, for products with dense matrices only, are computed in `f32` and have no peers; `c32` and
    /// `c64`, complex numbers of `f32` and `f64`, are for products with vectors and of sparse matrices.
    #[arg(long, value_delimiter = ',', default_values = ["f64", "f32"])]
    value: Vec<ValueName>,
    #[command(flatten)]
    measuring: Measuring,
    /// Append the rows to a file of results, one JSON object per line. Cases that it has are not measured again.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Seconds after which no new case is started.
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
    /// Measure failed cases of the file again.
    #[arg(long, requires = "out")]
    retry_failed: bool,
    /// Print one JSON object per line, as a file of results has them, instead of a table.
    #[arg(long)]
    json: bool,
}

impl Options {
    /// Measures the cases that a device gets over the matrices, or over those of these kinds.
    ///
    /// # Errors
    ///
    /// If matrices or device are not available, a case does not exist, or the file of results cannot be written.
    pub(crate) fn run(
        &self,
        kinds: &[&str],
        cases: impl FnOnce(DeviceKind) -> Result<Vec<Case>, String>,
    ) -> Result<ExitCode, Box<dyn Error>> {
        let sources = self.matrices.sources_or(kinds)?;
        let device = self.measuring.device.open()?;
        let cases = cases(device.kind())?;
        let peers = self.measuring.open_peers(&device, &[]);
        let bench = self.measuring.bench(&device, &peers)?;
        let setting =
            Setting::new(&device, bench.copy_gbps, peers.versions(), command_line(std::env::args()));
        let mut values = Vec::new();
        for &value in &self.value {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let request = Request {
            sources,
            cases,
            values,
            out: self.out.clone(),
            limit: self.limit.map(Duration::from_secs),
            retry_failed: self.retry_failed,
            json: self.json,
        };
        run(bench, setting, request)
    }
}

impl Options {
    /// The matrices, or those of these kinds if none are given.
    ///
    /// # Errors
    ///
    /// Those of [`MatrixSelection::sources_or`].
    pub(crate) fn sources(&self, kinds: &[&str]) -> Result<Vec<(&'static str, Source)>, Box<dyn Error>> {
        self.matrices.sources_or(kinds)
    }
}

/// The matrices to measure.
#[derive(clap::Args)]
pub(crate) struct MatrixSelection {
    /// Suites of matrices to measure with. [default: generated matrices, if no matrices are given]
    #[arg(long, value_delimiter = ',')]
    suite: Vec<Suite>,
    /// Kinds of matrix to generate, such as `stencil5:2000`, `like:protein`, `full-rows:3:fem:9000`, `random:SEED:NUMBER` or
    /// `band:1500000`, in addition to the suites.
    #[arg(long, value_delimiter = ',', value_name = "KIND")]
    generate: Vec<String>,
    /// Matrix Market files to read, in addition to the suites.
    #[arg(long, value_delimiter = ',', value_name = "FILE")]
    matrix: Vec<PathBuf>,
    /// The folder of the suite `folder`.
    #[arg(long, value_name = "FOLDER", env = FOLDER_VARIABLE)]
    folder: Option<PathBuf>,
    /// The seeds of the suite `random`.
    #[arg(long, value_name = "S", value_delimiter = ',', default_values_t = [1])]
    seed: Vec<u64>,
    /// The number of matrices of each seed.
    #[arg(long, value_name = "N", default_value_t = 100)]
    count: u64,
    /// The largest number of nonzeros of the suites `random` and `folder`. [default: 20 million; all files]
    #[arg(long, value_name = "N")]
    most_nonzeros: Option<usize>,
    /// The smallest number of nonzeros of the suites `random` and `folder`. Sizes of random structures are drawn evenly in the
    /// logarithm between both, before repeated columns are removed; the header of a file counts. [default: 10000; all files]
    #[arg(long, value_name = "N")]
    least_nonzeros: Option<usize>,
}

impl MatrixSelection {
    /// The matrices, each with the name of its suite. Without any, those of these kinds, or of the suite `generated`.
    ///
    /// # Errors
    ///
    /// If a kind does not exist or a folder cannot be read.
    pub(crate) fn sources_or(&self, kinds: &[&str]) -> Result<Vec<(&'static str, Source)>, Box<dyn Error>> {
        let sources = self.named_sources()?;
        if !sources.is_empty() || !self.suite.is_empty() {
            return Ok(sources);
        }
        if kinds.is_empty() {
            let generated = Suite::Generated.sources(SuiteOptions::default())?;
            return Ok(generated.into_iter().map(|source| (Suite::Generated.name(), source)).collect());
        }
        kinds.iter().map(|kind| Ok(("-", Source::Generated(kind.parse()?)))).collect()
    }

    fn named_sources(&self) -> Result<Vec<(&'static str, Source)>, Box<dyn Error>> {
        let random = RandomSuite { seeds: &self.seed, count: self.count };
        let nonzeros = NonzeroRange { least: self.least_nonzeros, most: self.most_nonzeros };
        let options = SuiteOptions { folder: self.folder.as_deref(), random, nonzeros };
        let mut sources = Vec::new();
        for name in &self.generate {
            sources.push(("-", Source::Generated(name.parse()?)));
        }
        sources.extend(self.matrix.iter().map(|path| ("-", Source::File(path.clone()))));
        for suite in &self.suite {
            let of_suite = suite.sources(options)?;
            sources.extend(of_suite.into_iter().map(|source| (suite.name(), source)));
        }
        Ok(sources)
    }
}

/// Device, peers, and number of runs.
#[derive(clap::Args)]
pub(crate) struct Measuring {
    /// Device: best, cuda:0 (or another number), cpu, simulated.
    #[arg(long, default_value_t = DeviceChoice::Best)]
    pub(crate) device: DeviceChoice,
    /// Libraries to compare with, if installed. `EVENPATH_CUSPARSE` lists files of further versions of cuSPARSE, separated as in
    /// `PATH`. [default: cusparse on a GPU]
    #[arg(long, value_delimiter = ',')]
    peers: Option<Vec<PeerName>>,
    /// Do not compare with other libraries.
    #[arg(long, conflicts_with = "peers")]
    no_peers: bool,
    /// Maximum number of samples per contender. [default: 50 on a GPU, 10 on the CPU, 2 on the simulated GPU]
    #[arg(long, value_name = "N", visible_alias = "iterations")]
    repetitions: Option<usize>,
    /// Milliseconds that the samples of a contender take together, unless three take longer. [default: 30 on a GPU, 100 on the CPU,
    /// 10 on the simulated GPU]
    #[arg(long, value_name = "MS")]
    budget: Option<f64>,
    /// Do not measure sparse products with more multiplications. [default: 10^10 on a GPU, 10^9 on the CPU, 10^6 on the
    /// simulated GPU]
    #[arg(long, value_name = "N")]
    pub(crate) most_products: Option<u64>,
}

impl Measuring {
    /// Opens the requested peers or, without a request, cuSPARSE on a GPU and these on the CPU. Those that cannot be opened are
    /// reported on stderr and skipped.
    pub(crate) fn open_peers(&self, device: &Device, on_cpu: &[PeerName]) -> Peers {
        let default = match device.kind() {
            DeviceKind::Cuda(_) if !self.no_peers => &[PeerName::Cusparse],
            DeviceKind::Cpu if !self.no_peers => on_cpu,
            _ => &[],
        };
        let (peers, absent) = Peers::open(self.peers.as_deref().unwrap_or(default), device.kind());
        for reason in absent {
            eprintln!("note: {reason}");
        }
        peers
    }

    /// The bench of a device, without a limit on nonzeros.
    ///
    /// # Errors
    ///
    /// If the copy rate cannot be measured.
    pub(crate) fn bench<'b>(
        &self,
        device: &'b Device,
        peers: &'b Peers,
    ) -> Result<Bench<'b>, Box<dyn Error>> {
        let (repetitions, budget_ms, most_products) = match device.kind() {
            DeviceKind::Cuda(_) => (50, 30.0, 10_u64.pow(10)),
            DeviceKind::Cpu => (10, 100.0, 10_u64.pow(9)),
            DeviceKind::Simulated => (2, 10.0, 10_u64.pow(6)),
        };
        let repetitions = Repetitions::from(self.repetitions.unwrap_or(repetitions));
        Ok(Bench {
            device,
            copy_gbps: copy_rate(device)?,
            peers,
            repetitions: repetitions.within(self.budget.unwrap_or(budget_ms)),
            most_nonzeros: usize::MAX,
            most_products: self.most_products.unwrap_or(most_products),
        })
    }
}

/// The command line, without the names of files and folders.
pub(crate) fn command_line(arguments: impl Iterator<Item = String>) -> String {
    let mut parts = vec!["evenpath-bench".to_owned()];
    let mut arguments = arguments.skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--out" | "--matrix" | "--folder" => drop(arguments.next()),
            part if ["--out=", "--matrix=", "--folder="].iter().any(|option| part.starts_with(option)) => {}
            _ => parts.push(argument),
        }
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_have_no_files() {
        let arguments = ["a/b", "suite", "--out", "x.jsonl", "--op", "spmv", "--folder=/home/me", "--json"];
        let text = command_line(arguments.into_iter().map(str::to_owned));
        assert_eq!(text, "evenpath-bench suite --op spmv --json");
    }
}
