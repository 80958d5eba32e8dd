use serde::Serialize;

use super::{MethodRecord, Record};
use crate::statistics::{correlation, geometric_mean};

/// The summary of all products with one value type, for one method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// The method.
    pub(crate) method: String,
    /// The type of the values.
    pub(crate) value: &'static str,
    /// The number of correct products.
    pub(crate) right: usize,
    /// The number of those that cuSPARSE computed correctly too.
    pub(crate) compared: usize,
    /// Over those, the geometric mean of cuSPARSE's best time over this method's.
    pub(crate) geometric_mean_ratio: Option<f64>,
    /// The lowest ratio with ten million multiplications or more, and its matrix.
    pub(crate) lowest_large: Option<(f64, String)>,
    /// Over those, the highest ratio of its bytes to those of cuSPARSE's fastest algorithm.
    pub(crate) most_memory: Option<f64>,
    /// Correlation of time with the number of multiplications.
    pub(crate) correlation: Option<f64>,
    /// The highest ratio of the time with known pattern to the time of the whole product.
    pub(crate) numeric_share: Option<f64>,
}

/// The number of multiplications from which a product is large.
const LARGE: u64 = 10_000_000;

impl Summary {
    /// One summary per method and value type.
    pub(crate) fn all(records: &[Record]) -> Vec<Self> {
        let mut keys: Vec<(&str, &'static str)> = Vec::new();
        for record in records {
            for method in &record.methods {
                let key = (method.method.as_str(), record.value);
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
        keys.into_iter().map(|(method, value)| Self::of(records, method, value)).collect()
    }

    fn of(records: &[Record], method: &str, value: &'static str) -> Self {
        let all: Vec<(&Record, &MethodRecord)> = records
            .iter()
            .filter(|record| record.value == value)
            .filter_map(|record| Some((record, record.methods.iter().find(|one| one.method == method)?)))
            .filter(|(_, one)| one.outcome.right().is_some())
            .collect();
        let ratios: Vec<(f64, &Record)> =
            all.iter().filter_map(|(record, one)| Some((record.ratio(one)?, *record))).collect();
        let figures = || all.iter().filter_map(|(record, one)| Some((*record, one.outcome.right()?)));
        let times: Vec<(f64, f64)> =
            figures().map(|(record, one)| (record.products as f64, one.ms)).collect();
        let memory = figures().filter_map(|(record, one)| {
            Some(one.peak_bytes as f64 / record.best_peer()?.1.peak_bytes as f64)
        });
        let shares = figures().filter_map(|(_, one)| Some(one.numeric_ms? / one.ms));
        let large = ratios.iter().filter(|(_, record)| record.products >= LARGE);
        Self {
            method: method.into(),
            value,
            right: all.len(),
            compared: ratios.len(),
            geometric_mean_ratio: geometric_mean(ratios.iter().map(|&(ratio, _)| ratio)),
            lowest_large: large
                .min_by(|a, b| a.0.total_cmp(&b.0))
                .map(|(ratio, record)| (*ratio, record.matrix.clone())),
            most_memory: memory.max_by(f64::total_cmp),
            correlation: correlation(&times),
            numeric_share: shares.max_by(f64::total_cmp),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Figures, Outcome, PeerRecord};
    use super::*;

    fn figures(ms: f64, numeric_ms: Option<f64>, peak_bytes: u64) -> Outcome {
        Outcome::Measured(Figures {
            ms,
            spread: 0.0,
            numeric_ms,
            gflops: 0.0,
            nonzeros: 1,
            peak_bytes,
            difference: None,
        })
    }

    fn peer(algorithm: &str, outcome: Outcome) -> PeerRecord {
        PeerRecord { version: None, algorithm: algorithm.into(), outcome }
    }

    fn record(products: u64, ours: f64, theirs: f64) -> Record {
        Record {
            op: "spgemm",
            suite: "-".into(),
            matrix: format!("of {products}"),
            value: "f64",
            rows: 1,
            cols: 1,
            nnz: 1,
            products,
            methods: vec![MethodRecord {
                method: "auto".into(),
                outcome: figures(ours, Some(ours / 2.0), 10),
            }],
            phases: None,
            cusparse: vec![
                peer("ALG1", figures(theirs, None, 40)),
                peer("ALG2", figures(theirs * 2.0, None, 1)),
                peer("ALG3", Outcome::Failed { error: "no".into() }),
            ],
        }
    }

    #[test]
    fn a_summary_is_that_of_the_fastest_algorithm() {
        let records = [record(LARGE, 1.0, 2.0), record(2 * LARGE, 2.0, 1.0), record(LARGE / 10, 0.1, 0.01)];
        let summaries = Summary::all(&records);
        let [summary] = summaries.as_slice() else { panic!("{summaries:?}") };
        assert_eq!((summary.right, summary.compared), (3, 3));
        let mean = summary.geometric_mean_ratio.expect("a mean");
        assert!((mean - 0.1_f64.cbrt()).abs() < 1e-12, "{mean}");
        assert_eq!(summary.lowest_large, Some((0.5, format!("of {}", 2 * LARGE))));
        assert_eq!((summary.most_memory, summary.numeric_share), (Some(0.25), Some(0.5)));
        assert!(summary.correlation.is_some_and(|correlation| correlation > 0.999_999));
    }
}
