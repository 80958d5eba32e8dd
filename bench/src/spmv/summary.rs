//! The summary of the records of many matrices.

use serde::Serialize;

use super::figures::Record;
use crate::statistics::{correlation, geometric_mean};

/// The number of nonzeros from which a matrix is large, so that work dominates over launch overhead.
const LARGE: usize = 1_000_000;

/// The summary of many matrices with one value type, compared with one library.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// `spmv` or `spmv_transposed`.
    pub op: &'static str,
    /// The type of the values.
    pub value: &'static str,
    /// The number of matrices measured.
    pub matrices: usize,
    /// The library; `None` without comparison.
    pub library: Option<&'static str>,
    /// The format of the library's algorithms to compare with; `None` for all.
    pub format: Option<&'static str>,
    /// The number of matrices that the library was measured on too.
    pub compared: usize,
    /// Geometric mean of the library's best time divided by evenpath's.
    pub geometric_mean_ratio: Option<f64>,
    /// The lowest ratio among matrices with a million nonzeros or more.
    pub worst_large: Option<Named>,
    /// The number of smaller matrices on which the library is faster.
    pub small_slower: usize,
    /// The number of smaller matrices compared.
    pub small: usize,
    /// Correlation of evenpath's time with the number of nonzeros over the matrices of Table II.
    pub correlation_table2: Option<f64>,
    /// The longest plan, in runs of the same matrix.
    pub longest_plan_runs: Option<Named>,
}

/// A number and its matrix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Named {
    /// The matrix.
    pub matrix: String,
    /// The number.
    pub value: f64,
}

impl Summary {
    /// One summary per operation, value type and library, and another one for the CSR algorithms of a library that has
    /// more; one without a library if there is no comparison.
    pub fn all(records: &[Record]) -> Vec<Self> {
        let mut summaries: Vec<Self> = Vec::new();
        for record in records {
            let mut peers: Vec<_> = record.peers.iter().map(|peer| (Some(peer.library), None)).collect();
            let others = record.peers.iter().filter(|peer| peer.format != "csr");
            peers.extend(others.map(|peer| (Some(peer.library), Some("csr"))));
            if peers.is_empty() {
                peers.push((None, None));
            }
            for (library, format) in peers {
                let is_it = |made: &Self| {
                    (made.op, made.value, made.library, made.format)
                        == (record.op, record.value, library, format)
                };
                if !summaries.iter().any(is_it) {
                    let is_alike = |other: &&Record| (other.op, other.value) == (record.op, record.value);
                    let alike: Vec<_> = records.iter().filter(is_alike).collect();
                    summaries.push(Self::new(&alike, record, library, format));
                }
            }
        }
        summaries
    }

    /// For records with the same operation and value type.
    fn new(
        records: &[&Record],
        like: &Record,
        library: Option<&'static str>,
        format: Option<&'static str>,
    ) -> Self {
        let ratios: Vec<(&Record, f64)> =
            records.iter().filter_map(|&record| Some((record, record.ratio(library?, format)?))).collect();
        let lowest = |ratios: &mut dyn Iterator<Item = (&Record, f64)>| {
            let (record, value) = ratios.min_by(|a, b| a.1.total_cmp(&b.1))?;
            Some(Named { matrix: record.matrix.clone(), value })
        };
        let is_small = |record: &Record| record.nnz < LARGE;
        let small = || ratios.iter().filter(|(record, _)| is_small(record));
        let of_work: Vec<_> = records
            .iter()
            .filter(|record| record.suite == "table2")
            .filter_map(|record| Some((record.nnz as f64, record.chosen()?.measured.ms)))
            .collect();
        let plans = records.iter().filter_map(|&record| {
            let figures = record.chosen()?;
            Some((record, figures.plan_ms / figures.measured.ms))
        });
        let longest_plan = plans.max_by(|a, b| a.1.total_cmp(&b.1));
        Self {
            op: like.op,
            value: like.value,
            matrices: records.len(),
            library,
            format,
            compared: ratios.len(),
            geometric_mean_ratio: geometric_mean(ratios.iter().map(|(_, ratio)| *ratio)),
            worst_large: lowest(&mut ratios.iter().copied().filter(|(record, _)| !is_small(record))),
            small_slower: small().filter(|(_, ratio)| *ratio < 1.0).count(),
            small: small().count(),
            correlation_table2: correlation(&of_work),
            longest_plan_runs: longest_plan
                .map(|(record, value)| Named { matrix: record.matrix.clone(), value }),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::figures::{Figures, MethodRecord, Outcome, PeerFigures, PeerRecord};
    use super::*;
    use crate::measure::{Measurement, Times, Timing, Work};

    pub(in super::super) fn method(name: &str, ms: f64) -> MethodRecord {
        let work = Work { operations: 1, bytes: 1, effective_bytes: 1, counted_by: "test" };
        let figures = Figures {
            chosen: name.into(),
            reason: String::new(),
            measured: Measurement::new(work, &Times::of_runs(vec![ms])),
            copy_share: 0.5,
            plan_ms: 2.0 * ms,
            workspace_bytes: 0,
            break_even: None,
            repeatable: true,
            ordered: true,
            difference: None,
        };
        MethodRecord { method: name.into(), outcome: Outcome::Measured(figures) }
    }

    fn peer(library: &'static str, ms: f64, difference: Option<&str>) -> PeerRecord {
        let difference = difference.map(str::to_owned);
        let figures = PeerFigures {
            ms,
            shortest_ms: ms,
            timing: Timing::new(&Times::of_runs(vec![ms])),
            preprocessing_ms: 0.0,
            workspace_bytes: 0,
            difference,
        };
        PeerRecord { library, algorithm: "one".into(), format: "csr", outcome: Outcome::Measured(figures) }
    }

    pub(in super::super) fn record(
        matrix: &str,
        nnz: usize,
        methods: Vec<MethodRecord>,
        peers: Vec<PeerRecord>,
    ) -> Record {
        Record {
            op: "spmv",
            suite: "table2".into(),
            matrix: matrix.into(),
            structure: None,
            generated: true,
            value: "f64",
            rows: 1,
            cols: 1,
            nnz,
            row_length_std_dev: 0.0,
            row_length_max: 0,
            fits_l2: None,
            methods,
            peers,
        }
    }

    #[test]
    fn ratios_are_to_the_fastest_right_algorithm() {
        let wrong = peer("cusparse", 0.1, Some("wrong"));
        let records = [
            record("a", 2_000_000, vec![method("auto", 1.0)], vec![peer("cusparse", 4.0, None), wrong]),
            record("b", 4_000_000, vec![method("auto", 2.0)], vec![peer("cusparse", 2.0, None)]),
            record("c", 10, vec![method("auto", 2.0)], vec![peer("cusparse", 1.0, None)]),
        ];
        let [summary] = &Summary::all(&records)[..] else { panic!("one library, one type") };
        // 4, 1 and 1/2.
        assert!((summary.geometric_mean_ratio.unwrap() - 2.0_f64.cbrt()).abs() < 1e-12, "{summary:?}");
        assert_eq!(summary.worst_large, Some(Named { matrix: "b".into(), value: 1.0 }));
        assert_eq!((summary.small_slower, summary.small, summary.compared), (1, 1, 3));
        assert_eq!(summary.longest_plan_runs.as_ref().map(|longest| longest.value), Some(2.0));
        let correlation = summary.correlation_table2.unwrap();
        // Of (2, 4, 0) with (1, 2, 2), by hand: covariance 0.
        assert!(correlation.abs() < 1e-5, "{correlation}");
    }

    #[test]
    fn algorithms_that_take_csr_have_a_summary_of_their_own() {
        let mut other = peer("cusparse", 1.0, None);
        other.format = "coo";
        let peers = vec![peer("cusparse", 3.0, None), other];
        let summaries = Summary::all(&[record("a", 1, vec![method("auto", 1.0)], peers)]);
        let means: Vec<_> = summaries
            .iter()
            .map(|summary| (summary.format, summary.geometric_mean_ratio.map(f64::round)))
            .collect();
        assert_eq!(means, [(None, Some(1.0)), (Some("csr"), Some(3.0))]);
    }
}
