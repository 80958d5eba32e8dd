//! y = αAx + βy by a few methods side by side, one line of CSV per matrix, after the tool of
//! Merrill, Garland, "Merge-based parallel sparse matrix-vector multiplication", 2016.

mod measure;
mod peer;
mod table;

pub use measure::{Case, Factors, NotFinite, measure};
pub use peer::Peer;
pub use table::Table;

use std::fmt;

use evenpath::Csr;
use evenpath::csr::Statistics;

use crate::measure::Measurement;

/// The methods side by side, as they are called in the header.
pub const METHODS: [&str; 4] = ["merge", "default", "hyb", "peer"];

/// The measurements of one matrix.
#[derive(Debug, Clone)]
pub struct Record {
    /// The file, or the kind of matrix that was generated.
    pub file: String,
    /// Size and row lengths.
    pub statistics: Statistics,
    /// The figures of each of [`METHODS`], or why there are none; `None` without a peer.
    pub figures: [Option<Result<Figures, String>>; METHODS.len()],
}

/// The figures of one method.
#[derive(Debug, Clone)]
pub struct Figures {
    /// What has run.
    pub method: String,
    /// The type of the values.
    pub value: &'static str,
    /// Milliseconds of planning, conversion or analysis, once per matrix.
    pub setup_ms: f64,
    /// The mean time of a run, and its rates.
    pub measured: Measurement,
    /// The effective rate in percent of the copy rate of the device.
    pub copy_percent: f64,
    /// The largest absolute difference to the result in f64.
    pub largest_difference: f64,
    /// How the result is wrong, if so.
    pub wrong: Option<String>,
}

impl Record {
    /// Whether every method of evenpath has run, with a correct result.
    pub fn is_right(&self) -> bool {
        let [own @ .., _peer] = &self.figures;
        own.iter().all(|figures| matches!(figures, Some(Ok(Figures { wrong: None, .. }))))
    }

    /// A line for each method that cannot run or is wrong.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        METHODS.iter().zip(&self.figures).filter_map(|(name, figures)| match figures {
            None | Some(Ok(Figures { wrong: None, .. })) => None,
            Some(Ok(Figures { method, wrong: Some(wrong), .. })) => {
                Some(format!("{}: {method}: {wrong}", self.file))
            }
            Some(Err(reason)) => Some(format!("{}: {name}: {reason}", self.file)),
        })
    }
}

/// As merge-spmv prints it: the statistics of the rows, then two lines per method.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.file, self.statistics)?;
        for figures in self.figures.iter().flatten().flatten() {
            write!(f, "\n{figures}\n")?;
        }
        Ok(())
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.wrong.is_none() { "PASS" } else { "FAIL" };
        writeln!(f, "{}, {verdict}", self.method)?;
        write!(
            f,
            "{}: {:.4} setup ms, {:.4} avg ms, {:.5} gflops, {:.3} effective GB/s ({:.2}% of the copy rate)",
            self.value,
            self.setup_ms,
            self.measured.ms,
            self.measured.gflops,
            self.measured.effective_gbps,
            self.copy_percent
        )
    }
}

/// Whether merge-spmv calls the matrix trivial: at most one row, column or nonzero.
pub fn is_trivial(matrix: &Csr<f64>) -> bool {
    matrix.rows() <= 1 || matrix.cols() <= 1 || matrix.nnz() <= 1
}
