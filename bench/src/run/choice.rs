//! Distance of the automatic choice from the best method.

use std::fmt;

use evenpath::spmv::SpmvMethod;

use crate::results::{AUTO, Contender, Figures, Op, Row};
use crate::statistics::geometric_mean;

/// The choice is good if its time is at most this factor times that of the best method.
const GOOD: f64 = 1.05;

/// The error of the automatic choice of SpMV over the matrices of a suite or, if their structure is random, of a seed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChoiceError {
    /// The type of the values.
    value: String,
    /// The suite, or `random:SEED`.
    group: String,
    /// The number of matrices on which the choice and another method were measured.
    matrices: usize,
    /// The number of those on which the chosen method takes at most 1.05 times as long as the best one.
    good: usize,
    /// Geometric mean of the time of the chosen method over that of the best one.
    geometric_mean: f64,
    /// The largest such ratio, and its matrix.
    worst: (f64, String),
    /// The number of matrices where the times of either are spread widely.
    wide: usize,
}

impl ChoiceError {
    /// One per value type and group, in the order of the rows.
    pub(crate) fn all(rows: &[Row]) -> Vec<Self> {
        let key = |row: &Row| (row.key.value.clone(), group(row));
        let of_op: Vec<&Row> = rows.iter().filter(|row| row.key.op == Op::Spmv).collect();
        let mut keys = Vec::new();
        for row in &of_op {
            if !keys.contains(&key(row)) {
                keys.push(key(row));
            }
        }
        let of_key = |wanted: (String, String)| {
            let rows: Vec<&Row> = of_op.iter().copied().filter(|row| key(row) == wanted).collect();
            Self::new(wanted, &rows)
        };
        keys.into_iter().filter_map(of_key).collect()
    }

    fn new((value, group): (String, String), rows: &[&Row]) -> Option<Self> {
        let pairs: Vec<(&Row, Pair<'_>)> =
            rows.iter().filter_map(|row| Some((*row, Pair::of(row.figures()?)?))).collect();
        let ratios = || pairs.iter().map(|(_, pair)| pair.ratio);
        let (row, worst) = pairs.iter().max_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio))?;
        Some(Self {
            value,
            group,
            matrices: pairs.len(),
            good: ratios().filter(|ratio| *ratio <= GOOD).count(),
            geometric_mean: geometric_mean(ratios())?,
            worst: (worst.ratio, row.key.matrix.clone()),
            wide: pairs.iter().filter(|(_, pair)| pair.chosen.is_wide() || pair.best.is_wide()).count(),
        })
    }
}

impl fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, group, matrices, good, geometric_mean, worst: (worst, matrix), wide } = self;
        write!(
            f,
            "spmv {value}, choice on {group}: within 5% of the best method on {good} of {matrices}; geometric mean \
             {geometric_mean:.3}; worst {worst:.3} ({matrix}); times of {wide} are spread widely"
        )
    }
}

/// The suite, or the seed.
fn group(row: &Row) -> String {
    match row.key.matrix.split(':').collect::<Vec<_>>()[..] {
        ["random", seed, ..] => format!("random:{seed}"),
        _ => row.key.suite.clone(),
    }
}

/// The chosen method, as it was measured by its name with what it is compared with, and the best one. The choice itself makes the
/// same launches, and two measurements of one method may differ by more than what counts as good; it stands for itself only where
/// that is all there is.
struct Pair<'f> {
    chosen: &'f Contender,
    best: &'f Contender,
    ratio: f64,
}

impl<'f> Pair<'f> {
    fn of(figures: &'f Figures) -> Option<Self> {
        let auto = figures.own(AUTO).filter(|auto| auto.ms.is_some())?;
        let by_name = figures.own(auto.method()).filter(|own| own.ms.is_some());
        // The choice cannot take a method that keeps another form of the matrix.
        let could_choose = |own: &&Contender| {
            own.name != AUTO && own.name.parse().is_ok_and(|method: SpmvMethod| !method.copies())
        };
        let right = figures.ours.iter().filter(could_choose).filter_map(|own| Some((own, own.right_ms()?)));
        let (best, best_ms) = right.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let chosen = by_name.unwrap_or(auto);
        Some(Self { chosen, best, ratio: chosen.ms? / best_ms })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::measure::Times;
    use crate::results::Key;

    fn method(name: &str, ms: f64) -> Contender {
        Contender::ran("evenpath", name, &Times::of_runs(vec![ms]), Ok(()))
    }

    fn row(matrix: &str, ours: Vec<Contender>) -> Row {
        let (suite, variant, value) = ("table2".into(), String::new(), "f64".into());
        let key = Key { op: Op::Spmv, variant, suite, matrix: matrix.into(), value };
        Row::measured(key, None, Figures::new((1, 2, 3), ours, vec![], BTreeMap::new()))
    }

    #[test]
    fn errors_are_by_seed() {
        let of = |matrix: &str, auto: f64| {
            // The choice cannot take a copy of the matrix.
            let copy = method("sliced-ell", 0.1);
            row(matrix, vec![method("auto", auto), method("flat", 1.0), method("scalar", 1.5), copy])
        };
        let rows = [
            of("random:1:0", 1.04),
            of("random:2:0", 2.0),
            of("random:1:1", 1.21),
            of("random:2:1:50000", 0.5),
            of("like:qcd", 1.0),
        ];
        let errors = ChoiceError::all(&rows);
        let groups: Vec<_> =
            errors.iter().map(|error| (error.group.as_str(), error.good, error.matrices)).collect();
        assert_eq!(groups, [("random:1", 1, 2), ("random:2", 1, 2), ("table2", 1, 1)]);
        assert_eq!(errors[0].worst, (1.21, "random:1:1".into()));
        assert!((errors[0].geometric_mean - (1.04_f64 * 1.21).sqrt()).abs() < 1e-12);
        assert!((errors[1].geometric_mean - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_chosen_method_counts_as_measured_by_its_name() {
        let auto = Contender { chosen: Some("scalar".into()), ..method("auto", 1.4) };
        let of = |methods| ChoiceError::all(&[row("a", methods)]).remove(0).geometric_mean;
        let mean = of(vec![auto.clone(), method("flat", 1.0), method("scalar", 1.25)]);
        assert!((mean - 1.25).abs() < 1e-12, "{mean}");
        let mean = of(vec![auto, method("flat", 1.0)]);
        assert!((mean - 1.4).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn without_another_method_there_is_no_error() {
        assert!(ChoiceError::all(&[row("a", vec![method("auto", 1.0)])]).is_empty());
        assert!(ChoiceError::all(&[row("a", vec![method("flat", 1.0)])]).is_empty());
    }
}
