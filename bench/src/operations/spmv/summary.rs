//! The summary of the records of many matrices.

use serde::Serialize;

use super::figures::{PeerRecord, Record};
use crate::statistics::{correlation, geometric_mean};

/// The number of nonzeros from which a matrix is large, so that work dominates over launch overhead.
const LARGE: usize = 1_000_000;

/// The summary of many matrices with one value type, compared with one library.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// `spmv` or `spmv_transposed`.
    pub(crate) op: &'static str,
    /// The type of the values.
    pub(crate) value: &'static str,
    /// The number of matrices measured.
    pub(crate) matrices: usize,
    /// The library; `None` without comparison.
    pub(crate) library: Option<&'static str>,
    /// The version of the library; `None` for the best of all that were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    /// The format of the library's algorithms to compare with; `None` for all.
    pub(crate) format: Option<&'static str>,
    /// The number of matrices that the library was measured on too.
    pub(crate) compared: usize,
    /// Geometric mean of the library's best time divided by evenpath's.
    pub(crate) geometric_mean_ratio: Option<f64>,
    /// The lowest ratio among matrices with a million nonzeros or more.
    pub(crate) worst_large: Option<Named>,
    /// The number of smaller matrices on which the library is faster.
    pub(crate) small_slower: usize,
    /// The number of smaller matrices compared.
    pub(crate) small: usize,
    /// Correlation of evenpath's time with the number of nonzeros over the matrices of Table II.
    pub(crate) correlation_table2: Option<f64>,
    /// The longest plan, in runs of the same matrix.
    pub(crate) longest_plan_runs: Option<Named>,
}

/// A number and its matrix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Named {
    /// The matrix.
    pub(crate) matrix: String,
    /// The number.
    pub(crate) value: f64,
}

impl Summary {
    /// One summary per operation, value type and library, and others for each version of a library that was measured in
    /// several, and for the CSR algorithms of one that has more; one without a library if there is no comparison.
    pub(crate) fn all(records: &[Record]) -> Vec<Self> {
        let mut summaries: Vec<Self> = Vec::new();
        for record in records {
            for against in Against::all(record) {
                let is_it = |made: &Self| {
                    (made.op, made.value) == (record.op, record.value)
                        && (made.library, &made.version, made.format)
                            == (against.library, &against.version, against.format)
                };
                if !summaries.iter().any(is_it) {
                    let is_alike = |other: &&Record| (other.op, other.value) == (record.op, record.value);
                    let alike: Vec<_> = records.iter().filter(is_alike).collect();
                    summaries.push(Self::new(&alike, record, against));
                }
            }
        }
        summaries
    }

    /// For records with the same operation and value type.
    fn new(records: &[&Record], like: &Record, against: Against) -> Self {
        let Against { library, version, format } = against;
        let ratio = |record: &Record| record.ratio(library?, version.as_deref(), format);
        let ratios: Vec<(&Record, f64)> =
            records.iter().filter_map(|&record| Some((record, ratio(record)?))).collect();
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
            version,
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

/// What a summary compares with.
#[derive(Debug, Default, PartialEq)]
struct Against {
    library: Option<&'static str>,
    version: Option<String>,
    format: Option<&'static str>,
}

impl Against {
    /// For the peers of a record: each library, its versions if there are several, and CSR alone if it has more. One without
    /// a library if there are no peers.
    fn all(record: &Record) -> Vec<Self> {
        let peers = &record.peers;
        let libraries = peers.iter().map(|peer| Self { library: Some(peer.library), ..Self::default() });
        let mut all: Vec<Self> = libraries.collect();
        let is_other = |peer: &PeerRecord, other: &PeerRecord| {
            peer.library == other.library && peer.version != other.version
        };
        let of_several = peers.iter().filter(|peer| peers.iter().any(|other| is_other(peer, other)));
        all.extend(of_several.filter(|peer| peer.version.is_some()).map(|peer| Self {
            library: Some(peer.library),
            version: peer.version.clone(),
            format: None,
        }));
        let others = peers.iter().filter(|peer| peer.format != "csr");
        all.extend(others.map(|peer| Self {
            library: Some(peer.library),
            version: None,
            format: Some("csr"),
        }));
        if all.is_empty() {
            all.push(Self::default());
        }
        all
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::figures::{Figures, MethodRecord, Outcome, PeerFigures};
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
        let (algorithm, outcome) = ("one".into(), Outcome::Measured(figures));
        PeerRecord { library, version: None, algorithm, format: "csr", outcome }
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

    #[test]
    fn versions_have_summaries_beside_that_of_the_best() {
        let of =
            |version: &str, ms| PeerRecord { version: Some(version.into()), ..peer("cusparse", ms, None) };
        let records = [
            record("a", 1, vec![method("auto", 1.0)], vec![of("12.6.3", 4.0), of("12.9.4", 2.0)]),
            record("b", 1, vec![method("auto", 1.0)], vec![of("12.6.3", 0.5), of("12.9.4", 8.0)]),
            // There the newer one failed.
            record("c", 1, vec![method("auto", 1.0)], vec![of("12.6.3", 1.0)]),
        ];
        let found: Vec<_> = Summary::all(&records)
            .into_iter()
            .map(|made| (made.version, made.compared, made.geometric_mean_ratio.map(|mean| mean.powi(6))))
            .collect();
        // The means of 2, 1/2 and 1, of 4, 1/2 and 1, and of 2 and 8.
        let expected = [(None, 3, 1.0), (Some("12.6.3"), 3, 4.0), (Some("12.9.4"), 2, 4096.0)];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((version, compared, power), expected) in found.into_iter().zip(expected) {
            assert_eq!((version.as_deref(), compared), (expected.0, expected.1));
            assert!((power.unwrap() / expected.2 - 1.0).abs() < 1e-12, "{power:?} {expected:?}");
        }
        // With one version there is nothing to tell apart.
        assert_eq!(Summary::all(&records[2..]).len(), 1);
    }
}
