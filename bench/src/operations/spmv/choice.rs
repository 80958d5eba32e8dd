//! How far the automatic choice is from the best method.

use serde::Serialize;

use super::figures::{Figures, Record};
use super::summary::Named;
use crate::statistics::geometric_mean;

/// The choice is good if its time is at most this factor times that of the best method.
const GOOD: f64 = 1.05;

/// The error of the automatic choice over the matrices of a suite or, if their structure is random, of a seed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ChoiceError {
    /// `spmv` or `spmv_transposed`.
    pub(crate) op: &'static str,
    /// The type of the values.
    pub(crate) value: &'static str,
    /// The suite, or `random:SEED`.
    pub(crate) group: String,
    /// The number of matrices on which the choice and another method were measured.
    pub(crate) matrices: usize,
    /// The number of those on which the chosen method takes at most 1.05 times as long as the best one.
    pub(crate) good: usize,
    /// Geometric mean of the time of the chosen method over that of the best one.
    pub(crate) geometric_mean: f64,
    /// The largest such ratio.
    pub(crate) worst: Named,
    /// The number of matrices where the times of either are spread widely.
    pub(crate) wide: usize,
}

impl ChoiceError {
    /// One per operation, value type and group, in the order of the records.
    pub(crate) fn all(records: &[Record]) -> Vec<Self> {
        let key = |record: &Record| (record.op, record.value, group(record));
        let mut keys = Vec::new();
        for record in records {
            if !keys.contains(&key(record)) {
                keys.push(key(record));
            }
        }
        let of_key = |wanted| {
            let of_group: Vec<&Record> = records.iter().filter(|record| key(record) == wanted).collect();
            Self::new(wanted, &of_group)
        };
        keys.into_iter().filter_map(of_key).collect()
    }

    fn new((op, value, group): (&'static str, &'static str, String), records: &[&Record]) -> Option<Self> {
        let ratios: Vec<(&Record, f64)> =
            records.iter().filter_map(|record| Some((*record, ratio(record)?))).collect();
        let (record, worst) = ratios.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Self {
            op,
            value,
            group,
            matrices: ratios.len(),
            good: ratios.iter().filter(|(_, ratio)| *ratio <= GOOD).count(),
            geometric_mean: geometric_mean(ratios.iter().map(|(_, ratio)| *ratio))?,
            worst: Named { matrix: record.matrix.clone(), value: *worst },
            wide: ratios.iter().filter(|(record, _)| is_wide(record)).count(),
        })
    }
}

/// The suite, or the seed.
fn group(record: &Record) -> String {
    match record.matrix.split(':').collect::<Vec<_>>()[..] {
        ["random", seed, ..] => format!("random:{seed}"),
        _ => record.suite.clone(),
    }
}

/// The time of the chosen method over that of the best one.
fn ratio(record: &Record) -> Option<f64> {
    let (_, best) = record.best_method()?;
    Some(chosen_by_name(record)?.measured.ms / best)
}

/// The chosen method as it was measured by its name, with what it is compared with: the choice itself makes the same launches, and
/// two measurements of one method may differ by more than what counts as good. The choice itself if that is all there is.
fn chosen_by_name(record: &Record) -> Option<&Figures> {
    let auto = record.method("auto")?;
    Some(record.method(&auto.chosen).unwrap_or(auto))
}

fn is_wide(record: &Record) -> bool {
    let best = record.best_method().and_then(|(name, _)| record.method(name));
    let wide =
        [chosen_by_name(record), best].into_iter().flatten().map(|figures| figures.measured.timing.wide);
    wide.into_iter().any(|wide| wide)
}

#[cfg(test)]
mod tests {
    use super::super::figures::Outcome;
    use super::super::summary::tests::{method, record};
    use super::*;

    #[test]
    fn errors_are_by_seed() {
        let of = |matrix: &str, auto: f64| {
            // The choice cannot take a copy of the matrix.
            let copy = method("sliced-ell", 0.1);
            record(
                matrix,
                1,
                vec![method("auto", auto), method("one", 1.0), method("other", 1.5), copy],
                vec![],
            )
        };
        let records = [
            of("random:1:0", 1.04),
            of("random:2:0", 2.0),
            of("random:1:1", 1.21),
            of("random:2:1:50000", 0.5),
            of("like:qcd", 1.0),
        ];
        let errors = ChoiceError::all(&records);
        let groups: Vec<_> =
            errors.iter().map(|error| (error.group.as_str(), error.good, error.matrices)).collect();
        assert_eq!(groups, [("random:1", 1, 2), ("random:2", 1, 2), ("table2", 1, 1)]);
        assert_eq!(errors[0].worst, Named { matrix: "random:1:1".into(), value: 1.21 });
        assert!((errors[0].geometric_mean - (1.04_f64 * 1.21).sqrt()).abs() < 1e-12);
        assert!((errors[1].geometric_mean - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_chosen_method_counts_as_measured_by_its_name() {
        let mut auto = method("auto", 1.4);
        if let Outcome::Measured(figures) = &mut auto.outcome {
            figures.chosen = "other".into();
        }
        let of = |methods| ChoiceError::all(&[record("a", 1, methods, vec![])]).remove(0).geometric_mean;
        let mean = of(vec![auto.clone(), method("one", 1.0), method("other", 1.25)]);
        assert!((mean - 1.25).abs() < 1e-12, "{mean}");
        let mean = of(vec![auto, method("one", 1.0)]);
        assert!((mean - 1.4).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn without_another_method_there_is_no_error() {
        assert!(ChoiceError::all(&[record("a", 1, vec![method("auto", 1.0)], vec![])]).is_empty());
        assert!(ChoiceError::all(&[record("a", 1, vec![method("one", 1.0)], vec![])]).is_empty());
    }
}
