//! What is measured of one matrix.

use serde::Serialize;

use crate::measure::Measurement;

/// Every method and every peer on one matrix.
#[derive(Debug, Clone, Serialize)]
pub struct Record {
    /// `spmv` or `spmv_transposed`.
    pub op: &'static str,
    /// The suite.
    pub suite: String,
    /// The matrix.
    pub matrix: String,
    /// Whether it is generated, and no published matrix.
    pub generated: bool,
    /// The type of the values.
    pub value: &'static str,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Nonzeros.
    pub nnz: usize,
    /// Standard deviation of the row length.
    pub row_length_std_dev: f64,
    /// Nonzeros of the longest row.
    pub row_length_max: usize,
    /// Whether matrix and vectors fit in the device's second-level cache, where they then stay from run to run, the
    /// peers' too. `None` where the device does not tell.
    pub fits_l2: Option<bool>,
    /// The methods, in the order in which they were asked for.
    pub methods: Vec<MethodRecord>,
    /// The peers' algorithms.
    pub peers: Vec<PeerRecord>,
}

/// A method of evenpath.
#[derive(Debug, Clone, Serialize)]
pub struct MethodRecord {
    /// What was asked for.
    pub method: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome<Figures>,
}

/// An algorithm of a peer.
#[derive(Debug, Clone, Serialize)]
pub struct PeerRecord {
    /// The library.
    pub library: &'static str,
    /// The algorithm, as the library calls it.
    pub algorithm: String,
    /// The format of the matrix: `csr`, or one that it must be brought into.
    pub format: &'static str,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome<PeerFigures>,
}

/// Figures, or why there are none.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Outcome<F> {
    /// It ran.
    Measured(F),
    /// It did not.
    Failed {
        /// Why.
        error: String,
    },
}

/// What a method did.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// What the plan chose.
    pub chosen: String,
    /// Why.
    pub reason: String,
    /// Times and rates.
    #[serde(flatten)]
    pub measured: Measurement,
    /// Share of the rate at which the device copies.
    pub copy_share: f64,
    /// Milliseconds that a plan takes, once its code is loaded.
    pub plan_ms: f64,
    /// Bytes that the plan holds.
    pub workspace_bytes: u64,
    /// Runs after which the plan has paid for itself: those that make up its time against the fastest peer that prepares
    /// nothing. `None` without such a peer, or where it is not slower.
    pub break_even: Option<u64>,
    /// Whether several runs, of this plan and of another, gave the same bits.
    pub repeatable: bool,
    /// Whether they should: not where additions are in no order.
    pub ordered: bool,
    /// How the result is wrong, if it is.
    pub difference: Option<String>,
}

/// What a peer did.
#[derive(Debug, Clone, Serialize)]
pub struct PeerFigures {
    /// Median milliseconds of a run.
    pub ms: f64,
    /// The shortest: on a machine that others use too, what is left of a comparison.
    pub shortest_ms: f64,
    /// Milliseconds of what it does once a matrix; 0 if nothing.
    pub preprocessing_ms: f64,
    /// Bytes that it wants beside the operands.
    pub workspace_bytes: usize,
    /// How the result is wrong, if it is.
    pub difference: Option<String>,
}

impl<F> Outcome<F> {
    /// The figures, if there are any.
    pub fn figures(&self) -> Option<&F> {
        match self {
            Self::Measured(figures) => Some(figures),
            Self::Failed { .. } => None,
        }
    }
}

impl Record {
    /// What a method did, by the name that was asked for.
    pub fn method(&self, name: &str) -> Option<&Figures> {
        self.methods.iter().find(|record| record.method == name)?.outcome.figures()
    }

    /// The method that stands for evenpath: the automatic choice, or the first that was asked for.
    pub fn chosen(&self) -> Option<&Figures> {
        self.method("auto").or_else(|| self.methods.iter().find_map(|record| record.outcome.figures()))
    }

    /// The fastest method with a right result, the automatic choice not counted.
    pub fn best_method(&self) -> Option<(&str, f64)> {
        let explicit = self.methods.iter().filter(|record| record.method != "auto");
        let right = explicit.filter_map(|record| {
            let figures = record.outcome.figures()?;
            figures.difference.is_none().then_some((record.method.as_str(), figures.measured.ms))
        });
        right.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The fastest algorithm with a right result among the peers' that a condition takes.
    pub fn best_peer(
        &self,
        condition: impl Fn(&PeerRecord, &PeerFigures) -> bool,
    ) -> Option<(&PeerRecord, &PeerFigures)> {
        let right = self.peers.iter().filter_map(|record| {
            let figures = record.outcome.figures()?;
            (figures.difference.is_none() && condition(record, figures)).then_some((record, figures))
        });
        right.min_by(|a, b| a.1.ms.total_cmp(&b.1.ms))
    }

    /// The time of the fastest algorithm of one library, divided by evenpath's; among those that take a format, or all.
    pub fn ratio(&self, library: &str, format: Option<&str>) -> Option<f64> {
        let is_it = |record: &PeerRecord| {
            record.library == library && format.is_none_or(|format| record.format == format)
        };
        let (_, peer) = self.best_peer(|record, _| is_it(record))?;
        Some(peer.ms / self.chosen()?.measured.ms)
    }

    /// Whether everything that evenpath gave is right, and the same in every run.
    pub fn is_right(&self) -> bool {
        let mut figures = self.methods.iter().filter_map(|record| record.outcome.figures());
        figures.all(|figures| figures.difference.is_none() && (figures.repeatable || !figures.ordered))
    }
}

/// Runs until what `plan_ms` took has been won back, at `ms` a run against a peer's `peer_ms`.
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
