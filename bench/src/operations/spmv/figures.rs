//! The measurements of one matrix.

use evenpath::spmv::SpmvMethod;
use serde::Serialize;

use super::measure::MAY_COPY;
use crate::measure::{Measurement, Timing};
use crate::peers::full_name;

/// All methods and peers on one matrix.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Record {
    /// `spmv` or `spmv_transposed`.
    pub(crate) op: &'static str,
    /// The suite.
    pub(crate) suite: String,
    /// The matrix.
    pub(crate) matrix: String,
    /// The parameters that were drawn for it, if its structure is random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) structure: Option<String>,
    /// Whether the matrix is generated rather than a published one.
    pub(crate) generated: bool,
    /// The type of the values.
    pub(crate) value: &'static str,
    /// Rows.
    pub(crate) rows: usize,
    /// Columns.
    pub(crate) cols: usize,
    /// Nonzeros.
    pub(crate) nnz: usize,
    /// Standard deviation of the row length.
    pub(crate) row_length_std_dev: f64,
    /// Nonzeros of the longest row.
    pub(crate) row_length_max: usize,
    /// Whether matrix and vectors fit in the L2 cache of the device, where they then stay from run to run, for peers
    /// too. `None` if the size of L2 is unknown.
    pub(crate) fits_l2: Option<bool>,
    /// The methods, in the requested order.
    pub(crate) methods: Vec<MethodRecord>,
    /// The peers' algorithms.
    pub(crate) peers: Vec<PeerRecord>,
}

/// A method of evenpath.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct MethodRecord {
    /// The requested method.
    pub(crate) method: String,
    /// The outcome.
    #[serde(flatten)]
    pub(crate) outcome: Outcome<Figures>,
}

/// An algorithm of a peer.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PeerRecord {
    /// The library.
    pub(crate) library: &'static str,
    /// Its version, if it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// The algorithm, as named by the library.
    pub(crate) algorithm: String,
    /// The format of the matrix: `csr`, or one that it was converted to.
    pub(crate) format: &'static str,
    /// The outcome.
    #[serde(flatten)]
    pub(crate) outcome: Outcome<PeerFigures>,
}

/// Figures, or why there are none.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub(crate) enum Outcome<F> {
    /// Success.
    Measured(F),
    /// Failure.
    Failed {
        /// Why.
        error: String,
    },
}

/// The figures of a method.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figures {
    /// What the plan chose.
    pub(crate) chosen: String,
    /// Why.
    pub(crate) reason: String,
    /// Times and rates.
    #[serde(flatten)]
    pub(crate) measured: Measurement,
    /// The rate as a fraction of the copy rate of the device.
    pub(crate) copy_share: f64,
    /// Milliseconds to make a plan, after its code has been loaded.
    pub(crate) plan_ms: f64,
    /// Bytes that the plan holds.
    pub(crate) workspace_bytes: u64,
    /// The number of runs after which the plan has paid off, compared with the fastest peer without preprocessing.
    /// `None` without such a peer, or if it is not slower.
    pub(crate) break_even: Option<u64>,
    /// Whether several runs, of this plan and of another one, gave bitwise identical results.
    pub(crate) repeatable: bool,
    /// Whether they should: false if additions are unordered.
    pub(crate) ordered: bool,
    /// How the result is wrong, if so.
    pub(crate) difference: Option<String>,
}

/// The figures of a peer.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PeerFigures {
    /// Median milliseconds of a run.
    pub(crate) ms: f64,
    /// The shortest time in milliseconds, for comparisons on a shared machine.
    pub(crate) shortest_ms: f64,
    /// How the times were taken.
    #[serde(flatten)]
    pub(crate) timing: Timing,
    /// Milliseconds of preprocessing, once per matrix; 0 if there is none.
    pub(crate) preprocessing_ms: f64,
    /// Bytes of workspace, besides the operands.
    pub(crate) workspace_bytes: usize,
    /// How the result is wrong, if so.
    pub(crate) difference: Option<String>,
}

impl PeerRecord {
    /// The library with its version, if it says so.
    pub(crate) fn full_name(&self) -> String {
        full_name(self.library, self.version.as_deref())
    }
}

impl<F> Outcome<F> {
    /// The figures, if there are any.
    pub(crate) fn figures(&self) -> Option<&F> {
        match self {
            Self::Measured(figures) => Some(figures),
            Self::Failed { .. } => None,
        }
    }
}

impl Record {
    /// The figures of a method, by its requested name.
    pub(crate) fn method(&self, name: &str) -> Option<&Figures> {
        self.methods.iter().find(|record| record.method == name)?.outcome.figures()
    }

    /// The method that represents evenpath: the automatic choice, or else the first requested one.
    pub(crate) fn chosen(&self) -> Option<&Figures> {
        self.method("auto").or_else(|| self.methods.iter().find_map(|record| record.outcome.figures()))
    }

    /// The fastest method with a correct result that the automatic choice could have taken: not itself, and none that keeps another
    /// form of the matrix.
    pub(crate) fn best_method(&self) -> Option<(&str, f64)> {
        let copies = |name: &str| name.parse().is_ok_and(SpmvMethod::copies);
        let is_choice = |name: &str| name == "auto" || name == MAY_COPY;
        let explicit =
            self.methods.iter().filter(|record| !is_choice(&record.method) && !copies(&record.method));
        let right = explicit.filter_map(|record| {
            let figures = record.outcome.figures()?;
            figures.difference.is_none().then_some((record.method.as_str(), figures.measured.ms))
        });
        right.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The fastest peer algorithm with a correct result that satisfies a condition.
    pub(crate) fn best_peer(
        &self,
        condition: impl Fn(&PeerRecord, &PeerFigures) -> bool,
    ) -> Option<(&PeerRecord, &PeerFigures)> {
        let right = self.peers.iter().filter_map(|record| {
            let figures = record.outcome.figures()?;
            (figures.difference.is_none() && condition(record, figures)).then_some((record, figures))
        });
        right.min_by(|a, b| a.1.ms.total_cmp(&b.1.ms))
    }

    /// The time of a library's fastest algorithm, of one version or of all, for one format or for all, divided by evenpath's.
    pub(crate) fn ratio(&self, library: &str, version: Option<&str>, format: Option<&str>) -> Option<f64> {
        let is_it = |record: &PeerRecord| {
            record.library == library
                && (version.is_none() || record.version.as_deref() == version)
                && format.is_none_or(|format| record.format == format)
        };
        let (_, peer) = self.best_peer(|record, _| is_it(record))?;
        Some(peer.ms / self.chosen()?.measured.ms)
    }

    /// Whether all results of evenpath are correct and repeatable.
    pub(crate) fn is_right(&self) -> bool {
        let mut figures = self.methods.iter().filter_map(|record| record.outcome.figures());
        figures.all(|figures| figures.difference.is_none() && (figures.repeatable || !figures.ordered))
    }
}

/// The number of runs until `plan_ms` is recovered, with `ms` per run against a peer's `peer_ms`.
pub(super) fn break_even(plan_ms: f64, ms: f64, peer_ms: f64) -> Option<u64> {
    (peer_ms > ms).then(|| (plan_ms / (peer_ms - ms)).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_pays_for_itself_after_the_runs_that_win_its_time_back() {
        assert_eq!(break_even(1.0, 0.75, 1.0), Some(4));
        assert_eq!(break_even(1.1, 0.75, 1.0), Some(5));
        assert_eq!(break_even(0.0, 0.75, 1.0), Some(0));
        assert_eq!(break_even(1.0, 1.0, 1.0), None);
    }
}
