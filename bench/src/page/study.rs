//! The page of one study.

use std::fmt::Write;

use crate::markdown::{Markdown, number};
use crate::measure::median;
use crate::study::{Cell, StudyFile, Table};

/// The tables of a study. One with a row per matrix is summarized by the range of its columns.
pub(super) fn tables(study: &StudyFile) -> String {
    let mut text = String::new();
    for table in &study.tables {
        let notes = table.notes.iter().map(|note| format!("- {note}\n"));
        let wrong = table.wrong.iter().map(|wrong| format!("- **wrong**: {wrong}\n"));
        let notes: String = notes.chain(wrong).filter(|note| !text.contains(note.as_str())).collect();
        let space = if notes.is_empty() { "" } else { "\n" };
        let cells = if is_by_matrix(table) { ranges(table) } else { table.cells() };
        // Writing to a String does not fail.
        let _ = write!(text, "\n## {}\n\n{}\n\n{cells}{space}{notes}", table.title, table.source);
    }
    text
}

/// Returns whether a table has a row for each of several matrices.
fn is_by_matrix(table: &Table) -> bool {
    let mut names: Vec<String> =
        table.rows.iter().filter_map(|row| row.first()).map(Cell::to_string).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    table.columns.first().is_some_and(|column| column == "matrix") && count > 3 && names.len() == count
}

/// The lowest number, the median and the highest of every column.
fn ranges(table: &Table) -> String {
    let of_column = |column: usize| -> Vec<f64> {
        let numbers = table.rows.iter().filter_map(|row| match row.get(column) {
            Some(Cell::Number(number)) => Some(*number),
            _ => None,
        });
        numbers.collect()
    };
    let mut columns = table.columns.clone();
    columns[0] = format!("{} matrices", table.rows.len());
    let mut ranges = Markdown::new(&columns);
    let numbers: Vec<Vec<f64>> = (1..columns.len()).map(of_column).collect();
    let line = |name: &str, of: &dyn Fn(&[f64]) -> f64| {
        let cells = numbers.iter().map(|numbers| number(of(numbers)));
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    ranges.row(line("lowest", &|numbers| numbers.iter().copied().fold(f64::INFINITY, f64::min)));
    ranges.row(line("median", &median));
    ranges.row(line("highest", &|numbers| numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)));
    ranges.finish()
}
