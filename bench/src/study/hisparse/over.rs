//! Tables with a row per matrix.

use crate::results::Row;
use crate::study::name::Study;
use crate::study::table::{Cell, Over, Table};

/// The name of a matrix, and its row in the type of the tables.
pub(super) type Named<'r> = (&'r str, &'r Row);

/// Begins a table with the names of the matrices. Pages have only the ranges of its columns.
pub(super) fn over<'r>(rows: &'r [Named<'r>], title: &str, value: &str, source: &str) -> Over<'r, Named<'r>> {
    named(rows, "matrix", title, value, source)
}

/// The same, with every matrix on pages too.
pub(super) fn over_each<'r>(
    rows: &'r [Named<'r>],
    title: &str,
    value: &str,
    source: &str,
) -> Over<'r, Named<'r>> {
    named(rows, "stand-in for", title, value, source)
}

fn named<'r>(
    rows: &'r [Named<'r>],
    heading: &str,
    title: &str,
    value: &str,
    source: &str,
) -> Over<'r, Named<'r>> {
    let table = Table::over(Study::Hisparse, &format!("{title}, {value}"), source, rows);
    table.column(heading, |(name, _)| *name)
}

/// Adds columns of further figures, by heading and name. A figure that no matrix has gets none.
pub(super) fn with_figures<'r, C: Into<Cell>>(
    rows: &'r [Named<'r>],
    table: Over<'r, Named<'r>>,
    columns: &[(&str, String)],
    cell: impl Fn(&Row, Option<f64>) -> C,
) -> Over<'r, Named<'r>> {
    let has_any = |name: &str| rows.iter().any(|(_, row)| row.more(name).is_some());
    columns
        .iter()
        .filter(|(_, name)| has_any(name))
        .fold(table, |table, (heading, name)| table.column(*heading, |(_, row)| cell(row, row.more(name))))
}
