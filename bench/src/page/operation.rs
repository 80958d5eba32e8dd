//! The page of one operation.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::rows::{Rows, distinct, joined, libraries, name};
use crate::markdown::{Markdown, escaped};
use crate::results::{Comparison, Op, Row};

/// The number of ratios that are listed, from the lowest.
const LOWEST: usize = 8;

/// The number of reasons that are listed.
const REASONS: usize = 20;

/// The heading: the name and what is computed.
pub(super) fn title(op: Op) -> String {
    let computed = match op {
        Op::Spmv => "y = Ax",
        Op::SpmvTransposed => "y = Aᵀx",
        Op::Spmm => "C = AB with a dense B, the faster of both layouts",
        Op::Sddmm => "AB at the nonzeros of C, A and B dense, the faster of both layouts of B",
        Op::Spadd => "C = 1.5 A - 0.5 B, including the pattern of C",
        Op::Spgemm => "C = AA, or AAᵀ if A is not square, including the pattern of C",
        Op::Hisparse => "y = Ax with nodes of 128 × 128, each way by itself",
        Op::Masked => "L ∘ (LL) for the entries L below the diagonal of a graph's matrix",
        Op::Graphs => "whole calls, on the nonzeros in both directions",
        Op::Assembly => "new values of a matrix of trilinear hexahedra",
        Op::Triangular => "analysis and run of ILU(0), IC(0), and of solves with L and U",
    };
    format!("{}, {computed}", name(op))
}

/// Counts and means: a row per case, value type, library and suite.
pub(super) fn summary(rows: &Rows<'_>) -> String {
    let headings = [
        "",
        "suite",
        "compared with",
        "matrices",
        "failed",
        "wrong",
        "faster",
        "slower",
        "geometric mean",
        "lowest",
    ];
    let mut table = Markdown::new(&headings.map(str::to_owned));
    let group = |row: &Row| (row.key.variant.clone(), row.key.value.clone(), row.key.suite.clone());
    for wanted in distinct(rows.iter().map(|(_, row)| group(row))) {
        let rows: Vec<_> = rows.iter().copied().filter(|(_, row)| group(row) == wanted).collect();
        let own: Vec<&Row> = rows.iter().map(|(_, row)| *row).collect();
        let wrong = own.iter().filter(|row| row.is_wrong()).count();
        let failed = own.iter().filter(|row| !row.is_wrong() && row.failure().is_some()).count();
        let (variant, value, suite) = &wanted;
        let mut libraries = libraries(&rows);
        if libraries.is_empty() {
            libraries.push("-".into());
        }
        for library in libraries {
            let comparison = Comparison::new(own.iter().copied(), &library);
            let counts = [own.len(), failed, wrong, comparison.faster(), comparison.slower()];
            let names = [joined(&[variant, value]), suite.clone(), library];
            let texts = [comparison.mean(), comparison.lowest()];
            table.row(names.into_iter().chain(counts.map(|count| count.to_string())).chain(texts));
        }
    }
    table.finish()
}

/// The lowest ratios to the libraries by name, whatever their version.
pub(super) fn lowest(rows: &Rows<'_>) -> String {
    let mut ratios: Vec<(f64, &String, &Row)> = Vec::new();
    for (_, row) in rows {
        let found = row.figures().map(|figures| &figures.ratio).into_iter().flatten();
        let by_name = found.filter(|(library, _)| !library.contains(' '));
        ratios.extend(by_name.map(|(library, ratio)| (*ratio, library, *row)));
    }
    if ratios.is_empty() {
        return String::new();
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut table = Markdown::new(&["matrix", "suite", "", "nonzeros", "by", "ratio to"].map(str::to_owned));
    for (ratio, library, row) in ratios.into_iter().take(LOWEST) {
        let key = &row.key;
        let method = row.figures().and_then(|figures| figures.method.clone());
        table.row([
            key.matrix.clone(),
            key.suite.clone(),
            joined(&[&key.variant, &key.value]),
            row.shape.map_or_else(|| "-".into(), |shape| shape.nnz.to_string()),
            method.unwrap_or_else(|| "-".into()),
            format!("{library}: {ratio:.2}"),
        ]);
    }
    format!("\n## Lowest ratios\n\n{}", table.finish())
}

/// Reasons why evenpath or a library has no time, each with the number of rows and the first of them.
pub(super) fn failures(rows: &Rows<'_>) -> String {
    let mut reasons: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for (_, row) in rows {
        let name = joined(&[&row.key.matrix, &row.key.value, &row.key.variant]);
        let mut add = |library: &str, reason: &str| {
            let entry = reasons.entry(format!("{library}: {reason}")).or_insert_with(|| (0, name.clone()));
            entry.0 += 1;
        };
        if let Some(reason) = row.failure() {
            add("evenpath", &reason);
        } else if row.is_wrong() {
            add("evenpath", "wrong result");
        }
        let Some(figures) = row.figures() else { continue };
        for library in figures.libraries().iter().filter(|library| figures.best_peer(library).is_none()) {
            add(library, &figures.refusals(library).join("; "));
        }
    }
    if reasons.is_empty() {
        return String::new();
    }
    let mut text = "\n## Measurements without a time\n\n".to_owned();
    for (reason, (count, first)) in reasons.iter().take(REASONS) {
        let others = match count - 1 {
            0 => String::new(),
            1 => " and another".into(),
            others => format!(" and {others} others"),
        };
        // Writing to a String does not fail.
        let _ = writeln!(text, "- {}, for {}{others}", escaped(reason), escaped(first));
    }
    if reasons.len() > REASONS {
        let _ =
            writeln!(text, "- {} other reasons, which the table of all rows has", reasons.len() - REASONS);
    }
    text
}
