//! The page's section on one operation.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::rows::{Rows, distinct, libraries, name, of_case};
use crate::markdown::{Markdown, escaped, number};
use crate::results::{Comparison, Contender, Op, Row, Setting, Shape};

/// The heading: the name and what is computed.
pub(super) fn title(op: Op) -> String {
    let computed = match op {
        Op::Spmv => "y = Ax",
        Op::SpmvTransposed => "y = Aᵀx",
        Op::Spmm => "C = AB with a dense B, the faster of both layouts",
        Op::Spadd => "C = 1.5 A - 0.5 B, including the pattern of C",
        Op::Spgemm => "C = AA, or AAᵀ if A is not square, including the pattern of C",
        Op::Hisparse => "y = Ax with nodes of 128 × 128, each way by itself",
    };
    format!("{}, {computed}", name(op))
}

/// The cases and value types.
fn groups<'r>(rows: &Rows<'r>) -> Vec<(&'r str, &'r str)> {
    distinct(rows.iter().map(|(_, row)| (row.key.variant.as_str(), row.key.value.as_str())))
}

/// Counts and means: a row per case, value type and library.
pub(super) fn summary(rows: &Rows<'_>) -> String {
    let headings = [
        "",
        "compared with",
        "matrices",
        "failed",
        "wrong",
        "compared",
        "faster",
        "slower",
        "geometric mean",
        "lowest",
    ];
    let mut table = Markdown::new(&headings.map(str::to_owned));
    for (variant, value) in groups(rows) {
        let group: Vec<_> = rows
            .iter()
            .copied()
            .filter(|(_, row)| (row.key.variant.as_str(), row.key.value.as_str()) == (variant, value))
            .collect();
        let mut libraries: Vec<Option<String>> = libraries(&group).into_iter().map(Some).collect();
        if libraries.is_empty() {
            libraries.push(None);
        }
        let of_group: Vec<&Row> = group.iter().map(|(_, row)| *row).collect();
        let wrong = of_group.iter().filter(|row| row.is_wrong()).count();
        let failed = of_group.iter().filter(|row| !row.is_wrong() && row.failure().is_some()).count();
        for library in &libraries {
            let comparison =
                Comparison::new(of_group.iter().copied(), library.as_deref().unwrap_or_default());
            let counts = [of_group.len(), failed, wrong];
            let compared = [comparison.compared(), comparison.faster(), comparison.slower()];
            let name =
                [variant, value].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
            let cells = [name, library.clone().unwrap_or_else(|| "-".into())]
                .into_iter()
                .chain(counts.into_iter().chain(compared).map(|count| count.to_string()))
                .chain([comparison.mean(), comparison.lowest()]);
            table.row(cells);
        }
    }
    table.finish()
}

/// All rows: a table per case with a row per matrix, in the order of measurement.
pub(super) fn tables(rows: &Rows<'_>) -> String {
    let values = distinct(rows.iter().map(|(_, row)| row.key.value.as_str()));
    let mut text = String::new();
    for variant in distinct(rows.iter().map(|(_, row)| row.key.variant.as_str())) {
        let of_variant = of_case(rows, variant);
        let libraries = libraries(&of_variant);
        let mut matrices: Vec<(&str, &str)> = Vec::new();
        for (_, row) in &of_variant {
            let name = (row.key.suite.as_str(), row.key.matrix.as_str());
            if !matrices.contains(&name) {
                matrices.push(name);
            }
        }
        let mut table = Markdown::new(&headings(&values, &libraries));
        for (suite, matrix) in &matrices {
            let of_matrix = |value: &str| {
                let mut own = of_variant.iter().copied();
                own.find(|(_, row)| {
                    (row.key.suite.as_str(), row.key.matrix.as_str(), row.key.value.as_str())
                        == (*suite, *matrix, value)
                })
            };
            let shape = values.iter().find_map(|value| of_matrix(value)?.1.shape);
            let size = |of: fn(&Shape) -> usize| {
                shape.as_ref().map_or_else(|| "-".into(), |shape| of(shape).to_string())
            };
            let mut cells = vec![
                (*matrix).to_owned(),
                (*suite).to_owned(),
                size(|shape| shape.rows),
                size(|shape| shape.cols),
                size(|shape| shape.nnz),
            ];
            for value in &values {
                cells.extend(figures(of_matrix(value), &libraries));
            }
            table.row(cells);
        }
        let heading = if variant.is_empty() { String::new() } else { format!(", {}", escaped(variant)) };
        // Writing to a String does not fail.
        let _ = write!(
            text,
            "\n<details><summary>All {} matrices{heading}</summary>\n\n{}\n</details>\n",
            matrices.len(),
            table.finish()
        );
    }
    text
}

fn headings(values: &[&str], libraries: &[String]) -> Vec<String> {
    let mut headings = ["matrix", "suite", "rows", "columns", "nonzeros"].map(str::to_owned).to_vec();
    for value in values {
        headings.extend([format!("{value}: ms"), "GFLOP/s".into(), "of copy".into(), "by".into()]);
        headings.extend(libraries.iter().cloned());
    }
    headings
}

/// The cells of one value type.
fn figures(found: Option<(&Setting, &Row)>, libraries: &[String]) -> Vec<String> {
    let none = || "-".to_owned();
    let empty = |first: &str| {
        let mut cells = vec![none(); 4 + libraries.len()];
        cells[0] = first.into();
        cells
    };
    let Some((setting, row)) = found else { return empty("-") };
    if row.is_wrong() {
        return empty("**wrong**");
    }
    let Some((figures, ms)) = row.figures().and_then(|figures| Some((figures, figures.ms?))) else {
        return empty("failed");
    };
    let is_wide = figures.best_own().is_some_and(Contender::is_wide);
    let mut cells = vec![
        if is_wide { format!("{}~", number(ms)) } else { number(ms) },
        number(figures.operations as f64 / ms / 1e6),
        format!("{:.2}", figures.bytes as f64 / ms / 1e6 / setting.copy_gbps),
        figures.method.clone().unwrap_or_else(none),
    ];
    for library in libraries {
        cells.push(match figures.ratio.get(library) {
            None => "none".into(),
            Some(ratio) if *ratio < 1.0 => format!("**{ratio:.2}**"),
            Some(ratio) => format!("{ratio:.2}"),
        });
    }
    cells
}

/// Rows and libraries without a time, and why.
pub(super) fn failures(rows: &Rows<'_>) -> String {
    let cases = distinct(rows.iter().map(|(_, row)| row.key.variant.as_str()));
    let of_cases: BTreeMap<_, _> =
        cases.into_iter().map(|case| (case, libraries(&of_case(rows, case)))).collect();
    let mut lines = Vec::new();
    for (_, row) in rows {
        let libraries = &of_cases[row.key.variant.as_str()];
        let key = &row.key;
        let variant = if key.variant.is_empty() { String::new() } else { format!(", {}", key.variant) };
        let name = format!("{} {}{variant}", key.matrix, key.value);
        if let Some(reason) = row.failure() {
            lines.push(format!("- {}: {}\n", escaped(&name), escaped(&reason)));
        } else if row.is_wrong() {
            lines.push(format!("- {}: wrong result\n", escaped(&name)));
        }
        let Some(figures) = row.figures() else { continue };
        for library in libraries.iter().filter(|library| figures.best_peer(library).is_none()) {
            let mut reasons = figures.refusals(library).join("; ");
            if reasons.is_empty() {
                reasons = "not measured".into();
            }
            lines.push(format!("- {}, {library}: {}\n", escaped(&name), escaped(&reasons)));
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    format!("\nMeasurements without a time:\n\n{}", lines.concat())
}
