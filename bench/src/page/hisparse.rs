//! HiSparse on the pages. A measurement has several ways to multiply: each is a case of its own, since a copy in another format
//! says nothing about the tree. Sums, bytes and conversion have tables of their own.

use std::fmt::Write;

use super::rows::{Rows, distinct};
use crate::markdown::Markdown;
use crate::measure::median;
use crate::operations::hisparse::{BY_ROW, COPIED, FROZEN, QUEUE};
use crate::results::{Figures, OTHERS, Op, Outcome, Ratio, Row, SUMS};
use crate::statistics::{geometric_mean, mean_and_deviation};

/// The way that multiplies with several columns at once.
const DENSE: &str = "spmm, 8";

/// Columns of that product.
const DENSE_COLUMNS: u64 = 8;

/// The ways to multiply: as measurements and as the pages call them. The first reads the tree with a schedule that is kept; the
/// second is that of the CPU, which has no other.
const WAYS: [(&str, &str); 5] = [
    (FROZEN, TREE),
    (BY_ROW, ON_CPU),
    (QUEUE, "tree by queue"),
    (COPIED, "CSR copy"),
    (DENSE, "tree, eight columns at once"),
];

/// The case whose rows stand for the tree in plots, and for the measurement.
pub(super) const TREE: &str = "tree, frozen schedule";

/// The same on the CPU.
const ON_CPU: &str = "tree, leaves by row on the CPU";

/// A row for each way of a measurement of HiSparse.
pub(super) fn ways(row: &Row) -> Vec<Row> {
    let of_case = |case: &str, outcome| {
        let mut key = row.key.clone();
        key.variant = case.into();
        Row { key, shape: row.shape, structure: row.structure.clone(), outcome }
    };
    let Some(figures) = row.figures() else { return vec![of_case(TREE, row.outcome.clone())] };
    let measured = WAYS.iter().filter_map(|(way, case)| Some(of_case(case, of_way(figures, way)?)));
    measured.collect()
}

/// The figures of one way.
fn of_way(figures: &Figures, way: &str) -> Option<Outcome> {
    let contender = figures.ours.iter().find(|own| own.name == way)?;
    let bytes_of = |format: &str| figures.more.get(format).map_or(0, |bytes| *bytes as u64);
    let tree = bytes_of("hisparse bytes");
    let matrix = if way == COPIED { bytes_of("csr bytes") } else { tree };
    let columns = if way == DENSE { DENSE_COLUMNS } else { 1 };
    let bytes = matrix + columns * figures.bytes.saturating_sub(tree);
    // The libraries were measured with one vector.
    let peers = if way == DENSE { Vec::new() } else { figures.peers.clone() };
    let work = (columns * figures.work, columns * figures.operations, bytes);
    let figures = Figures::new(work, vec![contender.clone()], peers, figures.more.clone());
    Some(Outcome::Measured(Box::new(figures)))
}

/// Sums, bytes and conversion: real and generated matrices apart.
pub(super) fn section(rows: &Rows<'_>) -> String {
    let rows: Vec<&Row> = rows.iter().map(|(_, row)| *row).filter(|row| is_of_tree(row)).collect();
    let mut text = String::new();
    for (title, ratios) in [("Sums of trees", &SUMS[..]), ("Bytes and conversion", &OTHERS[..])] {
        if let Some(table) = summary(&rows, ratios) {
            // Writing to a String does not fail.
            let _ = write!(text, "\n## {title}\n\n{table}");
        }
    }
    text
}

/// Means over the matrices: a row per ratio, type and suite.
fn summary(rows: &[&Row], ratios: &[Ratio]) -> Option<String> {
    let headings = [
        "",
        "suite",
        "matrices",
        "geometric mean",
        "median",
        "mean",
        "standard deviation",
        "lowest",
        "highest",
    ];
    let mut table = Markdown::new(&headings.map(str::to_owned));
    let mut has_rows = false;
    for ratio in ratios {
        let group = |row: &Row| (row.key.suite.clone(), row.key.value.clone());
        for (suite, kind) in distinct(rows.iter().map(|row| group(row))) {
            let own = rows.iter().filter(|row| (&row.key.suite, &row.key.value) == (&suite, &kind));
            let mut found: Vec<(f64, &str)> =
                own.filter_map(|row| Some((ratio.of(row)?, row.key.matrix.as_str()))).collect();
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (Some(lowest), Some(highest)) = (found.first(), found.last()) else { continue };
            let values: Vec<f64> = found.iter().map(|(value, _)| *value).collect();
            let text = |value: Option<f64>| value.map_or_else(|| "-".into(), |value| format!("{value:.3}"));
            let (mean, deviation) = mean_and_deviation(&values).unzip();
            let with_name = |(value, matrix): &(f64, &str)| format!("{value:.2} ({matrix})");
            table.row([
                format!("{}, {kind}", ratio.name),
                suite.clone(),
                found.len().to_string(),
                text(geometric_mean(values.iter().copied())),
                text(Some(median(&values))),
                text(mean),
                text(deviation),
                with_name(lowest),
                with_name(highest),
            ]);
            has_rows = true;
        }
    }
    has_rows.then(|| table.finish())
}

/// Returns whether a row belongs in the plots of a tree: the other ways have the same figures, or are of another format.
pub(super) fn is_of_tree(row: &Row) -> bool {
    row.key.op != Op::Hisparse || [TREE, ON_CPU].contains(&row.key.variant.as_str())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::measure::Times;
    use crate::results::{Contender, Key};

    fn measured() -> Row {
        let key = Key {
            op: Op::Hisparse,
            variant: String::new(),
            suite: "folder".into(),
            matrix: "a".into(),
            value: "f64".into(),
        };
        let ours = [("frozen", 2.0), ("queue", 4.0), ("copied", 1.0), ("spmm, 8", 0.5)];
        let ours = ours
            .map(|(name, ms)| Contender::ran("evenpath", name, &Times::of_runs(vec![ms]), Ok(())))
            .to_vec();
        let peers = vec![Contender::ran("cusparse", "CSR", &Times::of_runs(vec![1.0]), Ok(()))];
        let more = [
            ("hisparse bytes", 100.0),
            ("csr bytes", 150.0),
            ("coo bytes", 200.0),
            ("add ms", 2.0),
            ("add ms, cusparse", 3.0),
            ("add_transposed ms", 2.0),
            ("add_transposed ms, cusparse", 1.0),
            ("add_transposed ms, cusparse's transpose", 4.0),
        ];
        let more = BTreeMap::from(more.map(|(name, value)| (name.to_owned(), value)));
        let figures = Figures::new((10, 20, 130), ours, peers, more);
        Row::measured(key, None, figures)
    }

    #[test]
    fn a_copy_is_not_the_tree() {
        let rows = ways(&measured());
        let found: Vec<_> = rows
            .iter()
            .map(|row| {
                let figures = row.figures().expect("figures");
                (row.key.variant.as_str(), figures.ms, figures.bytes, figures.ratio.get("cusparse").copied())
            })
            .collect();
        let expected = [
            (TREE, Some(2.0), 130, Some(0.5)),
            ("tree by queue", Some(4.0), 130, Some(0.25)),
            ("CSR copy", Some(1.0), 180, Some(1.0)),
            ("tree, eight columns at once", Some(0.5), 100 + 8 * 30, None),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn the_cpu_has_one_way() {
        let mut row = measured();
        if let Outcome::Measured(figures) = &mut row.outcome {
            figures.ours.truncate(1);
            figures.ours[0].name = BY_ROW.into();
        }
        let rows = ways(&row);
        let found: Vec<_> = rows.iter().map(|row| (row.key.variant.as_str(), is_of_tree(row))).collect();
        assert_eq!(found, [(ON_CPU, true)]);
    }

    #[test]
    fn what_failed_is_one_row() {
        let failed = Row::failed(measured().key, None, "out of memory");
        let rows = ways(&failed);
        assert_eq!((rows.len(), rows[0].failure().as_deref()), (1, Some("out of memory")));
        assert_eq!(section(&[]), "");
    }

    #[test]
    fn ratios_are_of_what_was_measured() {
        let row = measured();
        let rows = ways(&row);
        let refs: Vec<&Row> = rows.iter().filter(|row| is_of_tree(row)).collect();
        let sums = summary(&refs, &SUMS).expect("sums");
        assert!(
            sums.contains("| A + A: cuSPARSE over HiSparse, f64 | folder | 1 | 1.500 | 1.500 |"),
            "{sums}"
        );
        assert!(
            sums.contains("| A + Aᵀ: cuSPARSE, given Aᵀ, over HiSparse, f64 | folder | 1 | 0.500 |"),
            "{sums}"
        );
        let whole = "| A + Aᵀ: cuSPARSE with its transpose over HiSparse, f64 | folder | 1 | 2.500 |";
        assert!(sums.contains(whole) && !sums.contains("own CSR"), "{sums}");
        let bytes = summary(&refs, &OTHERS).expect("bytes");
        assert!(
            bytes.contains("0.667") && bytes.contains("0.500") && !bytes.contains("conversion"),
            "{bytes}"
        );
    }
}
