//! The experiments of publications, with evenpath's figures beside the published ones.
//!
//! A study reports [`Table`]s, each as soon as it is measured. One that takes long also reports each case, and is resumed
//! from these. Published figures are in `published`; only those printed as numbers are included. The published matrices are replaced by stand-ins of the same shape
//! ([`Published`](evenpath::generate::Published)).

mod cpu;
mod csr_adaptive;
mod file;
mod hisparse;
mod merge_path;
mod merge_spmv;
mod published;
mod report;
mod row_sorting;
mod table;

pub(crate) use file::{Case, StudyFile};
pub(crate) use report::Report;
use table::Part;
pub(crate) use table::{Cell, Table};

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};

use evenpath::generate::{Kind, generate};
use evenpath::spmv::SpmvMethod;
use evenpath::{Csr, Device};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::measure::Repetitions;
use crate::peers::{Operation, PeerValue};
use crate::operations::spmv::{self, Peers, Way};
use crate::statistics::{self, MOST_ROUNDS, WIDE};

/// A publication whose experiments are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Study {
    /// Dalton, Olson, Baxter, Merrill, Garland, "Optimizing sparse matrix operations on GPUs using merge path", 2015.
    MergePath,
    /// Pasandide, "Sparse matrix multiplication with two algorithms on GPU": CSR-Adaptive and LightSpMV.
    CsrAdaptive,
    /// Prata, Muranho, Gomes, "Impact of row sorting on the sparse matrix-vector product on GPU".
    RowSorting,
    /// Merrill, Garland, "Merge-based parallel sparse matrix-vector multiplication", 2016.
    MergeSpmv,
    /// The thesis on `HiSparse`.
    Hisparse,
}

impl Study {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MergePath => "merge-path",
            Self::CsrAdaptive => "csr-adaptive",
            Self::RowSorting => "row-sorting",
            Self::MergeSpmv => "merge-spmv",
            Self::Hisparse => "hisparse",
        }
    }

    /// Whether it reports cases, and does not measure again what a file has.
    pub(crate) fn is_resumed(self) -> bool {
        matches!(self, Self::Hisparse | Self::MergePath)
    }
}

/// Where and how to measure.
pub(crate) struct Bench<'b> {
    /// The device.
    pub(crate) device: &'b Device,
    /// The copy rate of the device, in GB/s.
    pub(crate) copy_gbps: f64,
    /// The libraries to compare with.
    pub(crate) peers: &'b Peers,
    /// How many runs to time.
    pub(crate) repetitions: Repetitions,
    /// The maximum number of nonzeros; larger matrices are skipped.
    pub(crate) most_nonzeros: usize,
    /// The maximum number of products; larger sparse products are skipped.
    pub(crate) most_products: u64,
}

/// Runs the experiments of the report's study. Experiments that the device does not support give a note or a cell with the
/// reason.
///
/// # Errors
///
/// If a table or a case cannot be reported, or the device was lost.
pub(crate) fn run(bench: &Bench<'_>, report: &mut Report<'_>) -> Result<(), Box<dyn Error>> {
    match report.study() {
        Study::MergePath => merge_path::run(bench, report),
        Study::CsrAdaptive => csr_adaptive::run(bench, report),
        Study::RowSorting => row_sorting::run(bench, report),
        Study::MergeSpmv => merge_spmv::run(bench, report),
        Study::Hisparse => hisparse::run(bench, report),
    }
}

/// Makes a matrix.
type Make = dyn Fn() -> Result<Csr<f64>, Box<dyn Error>>;

/// A matrix to measure.
struct Source {
    name: String,
    /// Nonzeros that it has at least, by what is known before it is made.
    nonzeros: usize,
    make: Box<Make>,
}

impl From<Kind> for Source {
    fn from(kind: Kind) -> Self {
        let name = match kind {
            Kind::Like { matrix } => matrix.name().to_owned(),
            _ => kind.to_string(),
        };
        Self { name, nonzeros: least_nonzeros(kind), make: Box::new(move || Ok(generate(kind, 1)?)) }
    }
}

/// Nonzeros that a matrix of a kind has at least, so that large ones need not be made to be left out. What is drawn at random is
/// taken to be drawn twice no more often than once.
fn least_nonzeros(kind: Kind) -> usize {
    let (rows, columns) = kind.shape();
    let of_a_row = match kind {
        Kind::Like { matrix } => return matrix.nonzeros(),
        Kind::EmptyRows { .. } => return rows / 4,
        Kind::Stencil5 { side } => 2 * side.min(2) - side.min(1),
        Kind::Stencil27 { side } => side.min(2).pow(3),
        Kind::BlockFem { block, .. } => block,
        Kind::Dense { .. } => columns,
        Kind::Fem { .. } => columns.min(32) / 2,
        Kind::Uniform { .. } => columns.min(16),
        Kind::PowerLaw { .. } | Kind::Diagonal { .. } => 1,
        _ => 0,
    };
    rows.saturating_mul(of_a_row)
}

impl Bench<'_> {
    /// Passes each generated matrix in canonical form to a function. Failures and skipped matrices are noted in the table.
    fn each_matrix(
        &self,
        kinds: impl IntoIterator<Item = Kind>,
        notes: &mut Vec<String>,
        measure: impl FnMut(&str, Csr<f64>) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        self.each(kinds.into_iter().map(Source::from), notes, measure)
    }

    /// Passes each matrix in canonical form to a function. Failures and skipped matrices are noted in the table.
    fn each(
        &self,
        sources: impl IntoIterator<Item = Source>,
        notes: &mut Vec<String>,
        mut measure: impl FnMut(&str, Csr<f64>) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        let mut too_large = Vec::new();
        for Source { name, nonzeros, make } in sources {
            if nonzeros > self.most_nonzeros {
                too_large.push(name);
                continue;
            }
            let measured = catch_unwind(AssertUnwindSafe(|| {
                let mut matrix = make()?;
                if matrix.nnz() > self.most_nonzeros {
                    too_large.push(name.clone());
                    return Ok(());
                }
                matrix.canonicalize();
                measure(&name, matrix)
            }));
            match measured {
                Ok(Ok(())) => {}
                Ok(Err(error)) => notes.push(format!("{name}: {error}")),
                Err(_) => notes.push(format!("{name}: a measurement panicked")),
            }
            self.device.synchronize()?;
        }
        if !too_large.is_empty() {
            notes.push(format!(
                "left out, with more than {} nonzeros: {}",
                self.most_nonzeros,
                too_large.join(", ")
            ));
        }
        Ok(())
    }

    /// Measures the matrices that the report does not have yet, as a case each. Returns the cases of all that have one, in
    /// order, and why others have none.
    fn each_case<T: Serialize + DeserializeOwned>(
        &self,
        sources: impl IntoIterator<Item = Source>,
        report: &mut Report<'_>,
        mut measure: impl FnMut(&str, Csr<f64>) -> Result<T, Box<dyn Error>>,
    ) -> Result<(Vec<T>, Vec<String>), Box<dyn Error>> {
        let (mut names, mut left, mut notes) = (Vec::new(), Vec::new(), Vec::new());
        for source in sources {
            names.push(source.name.clone());
            if !report.has(&source.name) {
                left.push(source);
            }
        }
        self.each(left, &mut notes, |name, matrix| report.record(name, &measure(name, matrix)?))?;
        let mut cases = Vec::new();
        for name in names {
            cases.extend(report.case(&name)?);
        }
        Ok((cases, notes))
    }

    /// y = Ax by several methods, beside the peers.
    fn spmv<V: PeerValue>(
        &self,
        name: &str,
        matrix: &Csr<V>,
        methods: &[SpmvMethod],
    ) -> Result<spmv::Record, Box<dyn Error>> {
        let on_device = methods.iter().filter(|method| method.runs_on(self.device.kind()));
        let ways: Vec<Way> = on_device.map(|&method| Way::Direct(method)).collect();
        let case = spmv::Case {
            structure: None,
            device: self.device,
            copy_gbps: self.copy_gbps,
            ways: &ways,
            peers: self.peers,
            operation: Operation::Direct,
            repetitions: self.repetitions,
            suite: "-",
            matrix: name,
            generated: true,
        };
        Ok(spmv::measure(&case, matrix)?)
    }
}

/// Milliseconds of a method, if it ran with a correct result; wrong results are listed.
fn method_ms(record: &spmv::Record, method: SpmvMethod, table: &mut Table) -> Option<f64> {
    let name = method.to_string();
    let figures = record.method(&name)?;
    if let Some(difference) = &figures.difference {
        table.wrong.push(format!("{} {name}: {difference}", record.matrix));
        return None;
    }
    Some(figures.measured.ms)
}

/// The heading of the column of spreads.
const SPREAD: &str = "spread, %";

/// What the column of spreads has.
fn spread_note() -> String {
    format!(
        "spread: the widest interquartile range of evenpath's times in a row, in percent of the median; times with more than \
         {:.0} % are measured again, in at most {MOST_ROUNDS} rounds, of which the narrowest counts",
        100.0 * WIDE
    )
}

/// The widest of several spreads, in percent; `None` without any.
fn widest_percent(spreads: impl IntoIterator<Item = f64>) -> Option<f64> {
    spreads.into_iter().map(|spread| 100.0 * spread).max_by(f64::total_cmp)
}

#[cfg(test)]
impl<'b> Bench<'b> {
    /// A bench for small matrices, without limits.
    fn small(device: &'b Device, peers: &'b Peers, repetitions: usize) -> Self {
        let (most_nonzeros, most_products) = (usize::MAX, u64::MAX);
        Self { device, copy_gbps: 1.0, peers, repetitions: repetitions.into(), most_nonzeros, most_products }
    }
}

/// The spreads of evenpath's times.
fn spreads(record: &spmv::Record) -> impl Iterator<Item = f64> {
    record.methods.iter().filter_map(|method| Some(method.outcome.figures()?.measured.timing.spread))
}

/// Milliseconds of cuSPARSE's best algorithm for CSR.
fn cusparse_ms(record: &spmv::Record) -> Option<f64> {
    let is_csr = |peer: &spmv::PeerRecord| peer.library == "cusparse" && peer.format == "csr";
    record.best_peer(|peer, _| is_csr(peer)).map(|(_, figures)| figures.ms)
}

/// 10⁹ operations per second, two per nonzero.
fn gflops(nonzeros: usize, ms: Option<f64>) -> Option<f64> {
    ms.map(|ms| 2.0 * nonzeros as f64 / ms / 1e6)
}

/// Correlation of time with work, for at least three matrices: two always lie on a line.
fn correlation(times: &[(f64, f64)]) -> Option<f64> {
    statistics::correlation(times).filter(|_| times.len() > 2)
}

/// The quotient, if both values exist.
fn quotient(above: Option<f64>, below: Option<f64>) -> Option<f64> {
    Some(above? / below?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_have_the_nonzeros_that_they_are_left_out_for() {
        let sizes = [
            "stencil5:1 stencil5:2 stencil5:30 stencil27:1 stencil27:2 stencil27:9 fem:1 fem:20 fem:40 fem:3000",
            "block-fem:1x3 block-fem:50x2 uniform:3 uniform:500 power-law:1 power-law:300 lp:4 rmat:1 rmat:6",
            "empty-rows:1 empty-rows:7 empty-rows:1000 dense:3x5 diagonal:4 like:circuit",
        ];
        for name in sizes.iter().flat_map(|names| names.split(' ')) {
            let kind: Kind = name.parse().expect("a kind");
            let matrix: Csr<f64> = generate(kind, 1).expect("a matrix");
            assert!(least_nonzeros(kind) <= matrix.nnz(), "{name}: {}", matrix.nnz());
        }
    }
}
