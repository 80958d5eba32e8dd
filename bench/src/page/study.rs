//! The page of one study.

use std::fmt::Write;

use crate::markdown::{Markdown, number};
use crate::measure::median;
use crate::study::{Cell, StudyFile, Table};

/// The tables of a study. One with a row per matrix, or with many rows, is summarized by the range of its columns. Of two that differ in the type of the
/// values, the one of f32 is shown; the other is among all cells.
pub(super) fn tables(study: &StudyFile) -> String {
    let mut text = String::new();
    let is_shown = |table: &&Table| {
        let single = table.title.replace("f64", "f32");
        single == table.title || study.tables.iter().all(|other| other.title != single)
    };
    for table in study.tables.iter().filter(is_shown) {
        // Tables of two types share their sources and notes.
        let is_new = |part: &String| !text.contains(part.as_str());
        let source = Some(format!("{}\n\n", table.source)).filter(is_new).unwrap_or_default();
        let notes = table.notes.iter().map(|note| format!("- {note}\n"));
        let wrong = table.wrong.iter().map(|wrong| format!("- **wrong**: {wrong}\n"));
        let notes: String = notes.chain(wrong).filter(is_new).collect();
        let space = if notes.is_empty() { "" } else { "\n" };
        let cells = if is_summarized(table) { ranges(table) } else { table.cells() };
        // Writing to a String does not fail.
        let _ = write!(text, "\n## {}\n\n{source}{cells}{space}{notes}", table.title);
    }
    text
}

fn name(row: &[Cell]) -> String {
    row.first().map(Cell::to_string).unwrap_or_default()
}

/// Returns whether a row has means of the others.
fn is_of_means(row: &[Cell]) -> bool {
    name(row).contains("mean")
}

/// Maximum number of rows of a table that is shown whole.
const MOST_ROWS: usize = 12;

/// Returns whether a table is summarized: it has a row for each of several matrices, or too many rows.
fn is_summarized(table: &Table) -> bool {
    let mut names: Vec<String> = table.rows.iter().map(|row| name(row)).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    let is_of_matrices = table.columns.first().is_some_and(|column| column == "matrix") && count > 3;
    is_of_matrices && names.len() == count || count > MOST_ROWS
}

/// Returns whether a column compares: a range of such numbers means more over different matrices than one of times.
fn compares(heading: &str) -> bool {
    [" over ", "ratio", "speed-up"].iter().any(|word| heading.contains(word))
        || heading == "published"
        || heading.starts_with("published,")
}

/// The lowest number, the median and the highest of the columns that compare, or of all that have numbers where none does; then the
/// means.
fn ranges(table: &Table) -> String {
    let matrices: Vec<&Vec<Cell>> = table.rows.iter().filter(|row| !is_of_means(row)).collect();
    let numbers = |column: usize| -> Vec<f64> {
        let cells = matrices.iter().filter_map(|row| row.get(column));
        cells.filter_map(|cell| if let Cell::Number(number) = cell { Some(*number) } else { None }).collect()
    };
    let columns = (1..table.columns.len()).map(|column| (column, numbers(column)));
    let mut columns: Vec<(usize, Vec<f64>)> = columns.filter(|(_, numbers)| !numbers.is_empty()).collect();
    if columns.iter().any(|(column, _)| compares(&table.columns[*column])) {
        columns.retain(|(column, _)| compares(&table.columns[*column]));
    }
    let headings = columns.iter().map(|(column, _)| table.columns[*column].clone());
    let of = table.columns.first().filter(|column| *column != "matrix").map_or("matrices", |_| "rows");
    let first = format!("{} {of}", matrices.len());
    let mut ranges = Markdown::new(&std::iter::once(first).chain(headings).collect::<Vec<_>>());
    let mut line = |name: &str, of: &dyn Fn(&[f64]) -> f64| {
        let cells = columns.iter().map(|(_, numbers)| number(of(numbers)));
        ranges.row(std::iter::once(name.to_owned()).chain(cells));
    };
    line("lowest", &|numbers| numbers.iter().copied().fold(f64::INFINITY, f64::min));
    line("median", &median);
    line("highest", &|numbers| numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    for row in table.rows.iter().filter(|row| is_of_means(row)) {
        let cells = columns.iter().map(|(column, _)| row[*column].to_string());
        ranges.row(std::iter::once(name(row)).chain(cells));
    }
    ranges.finish()
}

#[cfg(test)]
mod tests {
    use evenpath::Device;

    use super::*;
    use crate::results::Setting;
    use crate::study::Study;

    #[test]
    fn tables_by_matrix_are_summarized() {
        let table = |title: &str, heading: &str| Table {
            study: Study::Hisparse,
            title: title.into(),
            source: "Figure 2".into(),
            columns: [heading, "a", "b"].map(str::to_owned).to_vec(),
            rows: ["u", "v", "w", "mean"]
                .iter()
                .zip([2.0, 4.0, 9.0, 5.0])
                .map(|(name, value)| vec![Cell::Text((*name).into()), Cell::Number(value), Cell::None])
                .collect(),
            notes: vec!["once".into()],
            wrong: Vec::new(),
        };
        let setting = Setting::new(&Device::cpu(), 1.0, &[], String::new());
        let study =
            StudyFile { tables: vec![table("A", "matrix"), table("B", "bits")], ..StudyFile::new(setting) };
        let text = tables(&study);
        let summary = "\n## A\n\nFigure 2\n\n| 3 matrices | a |\n|---|---:|\n| lowest | 2 |\n| median | 4 |\n\
                       | highest | 9 |\n| mean | 5 |\n\n- once\n";
        assert!(text.starts_with(summary), "{text}");
        let whole = "\n## B\n\n| bits | a | b |\n|---|---:|---:|\n| u | 2 | - |\n| v | 4 | - |\n";
        assert!(
            text[summary.len()..].starts_with(whole) && !text[summary.len()..].contains("once"),
            "{text}"
        );
    }
}
