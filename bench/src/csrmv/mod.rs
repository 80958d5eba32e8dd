//! y = αAx + βy by a few methods side by side, one line of CSV per matrix, after the tool of
//! Merrill, Garland, "Merge-based parallel sparse matrix-vector multiplication", 2016.

mod measure;
mod peer;
mod table;

pub(crate) use measure::{Case, Factors, NotFinite, measure};
pub(crate) use peer::Peer;
pub(crate) use table::Table;

use std::fmt;

use evenpath::Csr;
use evenpath::csr::Statistics;

use crate::measure::Measurement;

/// The methods side by side, as they are called in the header.
pub(crate) const METHODS: [&str; 4] = ["merge", "default", "hyb", "peer"];

/// The measurements of one matrix.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// The file, or the kind of matrix that was generated.
    pub(crate) file: String,
    /// Size and row lengths.
    pub(crate) statistics: Statistics,
    /// The figures of each of [`METHODS`], or why there are none; `None` without a peer.
    pub(crate) figures: [Option<Result<Figures, String>>; METHODS.len()],
}

/// The figures of one method.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    /// What has run.
    pub(crate) method: String,
    /// The type of the values.
    pub(crate) value: &'static str,
    /// Milliseconds of planning, conversion or analysis, once per matrix.
    pub(crate) setup_ms: f64,
    /// The mean time of a run, and its rates.
    pub(crate) measured: Measurement,
    /// The effective rate in percent of the copy rate of the device.
    pub(crate) copy_percent: f64,
    /// The largest absolute difference to the result in f64.
    pub(crate) largest_difference: f64,
    /// How the result is wrong, if so.
    pub(crate) wrong: Option<String>,
}

impl Record {
    /// Whether every method of evenpath has run, with a correct result.
    pub(crate) fn is_right(&self) -> bool {
        let [own @ .., _peer] = &self.figures;
        own.iter().all(|figures| matches!(figures, Some(Ok(Figures { wrong: None, .. }))))
    }

    /// A line for each method that cannot run or is wrong.
    pub(crate) fn failures(&self) -> impl Iterator<Item = String> {
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
pub(crate) fn is_trivial(matrix: &Csr<f64>) -> bool {
    matrix.rows() <= 1 || matrix.cols() <= 1 || matrix.nnz() <= 1
}
