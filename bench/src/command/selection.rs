//! Options shared by the commands that measure over matrices: matrices, device, peers.

use std::error::Error;
use std::path::PathBuf;

use crate::arguments::{DeviceChoice, ValueType};
use crate::measure::Repetitions;
use crate::operations::spmv::{PeerName, Peers};
use crate::suite::{FOLDER_VARIABLE, RandomSuite, Source, Suite, SuiteOptions};
use evenpath::Device;
use evenpath::device::DeviceKind;

/// The matrices to measure.
#[derive(clap::Args)]
pub(crate) struct MatrixSelection {
    /// Suites of matrices to measure with. [default: generated matrices, if no matrices are given]
    #[arg(long, value_delimiter = ',')]
    pub(crate) suite: Vec<Suite>,
    /// Kinds of matrix to generate, such as `stencil5:2000`, `like:protein` or `random:SEED:NUMBER`, in addition to the
    /// suites.
    #[arg(long, value_delimiter = ',', value_name = "KIND")]
    pub(crate) generate: Vec<String>,
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
    /// The largest number of nonzeros of the suite `random`. [default: 20 million]
    #[arg(long, value_name = "N")]
    most_nonzeros: Option<usize>,
}

impl MatrixSelection {
    /// The matrices, each with the name of its suite. Default: the suite `generated`.
    ///
    /// # Errors
    ///
    /// If a kind does not exist or a folder cannot be read.
    pub(crate) fn sources(&self) -> Result<Vec<(&'static str, Source)>, Box<dyn Error>> {
        let sources = self.named_sources()?;
        if !sources.is_empty() || !self.suite.is_empty() {
            return Ok(sources);
        }
        let of_suite = Suite::Generated.sources(SuiteOptions::default())?;
        Ok(of_suite.into_iter().map(|source| (Suite::Generated.name(), source)).collect())
    }

    /// Like [`sources`](Self::sources), with these kinds as default.
    ///
    /// # Errors
    ///
    /// As for [`sources`](Self::sources).
    pub(crate) fn sources_or(&self, kinds: &[&str]) -> Result<Vec<(&'static str, Source)>, Box<dyn Error>> {
        let sources = self.named_sources()?;
        if !sources.is_empty() || !self.suite.is_empty() {
            return Ok(sources);
        }
        kinds.iter().map(|kind| Ok(("-", Source::Generated(kind.parse()?)))).collect()
    }

    /// The suite `random`.
    pub(crate) fn random(&self) -> RandomSuite<'_> {
        RandomSuite { seeds: &self.seed, count: self.count, most_nonzeros: self.most_nonzeros }
    }

    fn named_sources(&self) -> Result<Vec<(&'static str, Source)>, Box<dyn Error>> {
        let options = SuiteOptions { folder: self.folder.as_deref(), random: self.random() };
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

/// Where to run, what to compare with, and how often.
#[derive(clap::Args)]
pub(crate) struct Measuring {
    /// Where to run: best, cuda:0 (or another number), cpu, simulated.
    #[arg(long, default_value_t = DeviceChoice::Best)]
    pub(crate) device: DeviceChoice,
    /// Libraries to compare with, if installed. `EVENPATH_CUSPARSE` lists files of further versions of cuSPARSE, separated as in
    /// `PATH`. [default: cusparse on a GPU]
    #[arg(long, value_delimiter = ',')]
    pub(crate) peers: Option<Vec<PeerName>>,
    /// Do not compare with other libraries.
    #[arg(long, conflicts_with = "peers")]
    no_peers: bool,
    /// Maximum number of runs to time per measurement. [default: depends on operation and device]
    #[arg(long, value_name = "N")]
    repetitions: Option<usize>,
}

/// The value types to measure.
#[derive(clap::Args)]
pub(crate) struct Values {
    /// Types of the values.
    #[arg(long, value_delimiter = ',', default_values = ["f64", "f32"])]
    pub(crate) value: Vec<ValueType>,
}

impl Measuring {
    /// The requested peers, or the default ones of the device.
    pub(crate) fn peer_names(&self, kind: DeviceKind) -> &[PeerName] {
        let default: &[PeerName] = match kind {
            DeviceKind::Cuda(_) if !self.no_peers => &[PeerName::Cusparse],
            _ => &[],
        };
        self.peers.as_deref().unwrap_or(default)
    }

    /// Opens the peers. Those that cannot be opened are reported on stderr and skipped.
    pub(crate) fn open_peers(&self, device: &Device) -> Peers {
        let (peers, absent) = Peers::open(self.peer_names(device.kind()), device.kind());
        for reason in absent {
            eprintln!("note: {reason}");
        }
        peers
    }

    /// The number of runs to time: as requested, or the default of the kind of device.
    pub(crate) fn repetitions(
        &self,
        kind: DeviceKind,
        cuda: usize,
        cpu: usize,
        simulated: usize,
    ) -> Repetitions {
        let default = match kind {
            DeviceKind::Cuda(_) => cuda,
            DeviceKind::Cpu => cpu,
            DeviceKind::Simulated => simulated,
        };
        self.repetitions.unwrap_or(default).into()
    }
}
