//! Tables of studies.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::name::Study;
use crate::markdown::{Markdown, number};
use crate::results::{Contender, Row};

/// A table with evenpath's figures beside published ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) study: Study,
    pub(crate) title: String,
    /// The table or figure of the publication.
    pub(crate) source: String,
    pub(crate) columns: Vec<String>,
    /// Rows, with one cell per column.
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Notes, including what was skipped and why.
    pub(crate) notes: Vec<String>,
    /// Wrong results.
    pub(crate) wrong: Vec<String>,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Cell {
    /// A figure.
    Number(f64),
    /// A name.
    Text(String),
    /// Empty.
    None,
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        if value.is_finite() { Self::Number(value) } else { Self::None }
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        Self::Number(value as f64)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        Self::Number(value as f64)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => f.write_str(&number(*value)),
            Self::Text(text) => f.write_str(text),
            Self::None => f.write_str("-"),
        }
    }
}

impl Table {
    /// Begins a table with a row per case.
    pub(super) fn over<'c, C>(study: Study, title: &str, source: &str, cases: &'c [C]) -> Over<'c, C> {
        let rows = cases.iter().map(|_| Vec::new()).collect();
        Over { cases, table: Self { rows, ..Self::new(study, title, source, &[]) } }
    }

    /// Creates an empty table.
    pub(super) fn new(study: Study, title: &str, source: &str, columns: &[&str]) -> Self {
        Self {
            study,
            title: title.into(),
            source: source.into(),
            columns: columns.iter().map(|&column| column.into()).collect(),
            rows: Vec::new(),
            notes: Vec::new(),
            wrong: Vec::new(),
        }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let cells: Vec<Cell> = cells.into_iter().collect();
        debug_assert_eq!(cells.len(), self.columns.len(), "one cell per heading");
        self.rows.push(cells);
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds wrong results of some rows, and notes on methods and matrices without a time.
    pub(super) fn check<'r>(&mut self, rows: impl IntoIterator<Item = &'r Row>) {
        for row in rows {
            let name = &row.key.matrix;
            if row.figures().is_none() {
                self.note(format!("{name}: {}", row.failure().unwrap_or_default()));
            }
            self.check_contenders(row.ours().iter().map(|own| (name.as_str(), own)));
            if row.is_wrong() && !row.ours().iter().any(Contender::is_wrong) {
                self.wrong.push(name.clone());
            }
        }
    }

    /// Adds wrong results of contenders with the names of their matrices, and notes on those without a time.
    pub(super) fn check_contenders<'r>(&mut self, all: impl IntoIterator<Item = (&'r str, &'r Contender)>) {
        for (name, own) in all {
            let Some(error) = &own.error else { continue };
            let text = format!("{name}, {}: {error}", own.name);
            if own.is_wrong() {
                self.wrong.push(text);
            } else {
                self.note(text);
            }
        }
    }

    /// The headings and rows in Markdown.
    pub(crate) fn cells(&self) -> String {
        let mut table = Markdown::new(&self.columns);
        for row in &self.rows {
            table.row(row.iter().map(Cell::to_string));
        }
        table.finish()
    }

    /// The table in Markdown, with its title, its source, and the notes.
    pub(crate) fn to_markdown(&self) -> String {
        let notes = self.notes.iter().map(|note| format!("- {note}\n"));
        let wrong = self.wrong.iter().map(|wrong| format!("- **wrong**: {wrong}\n"));
        let notes: String = notes.chain(wrong).collect();
        let space = if notes.is_empty() { "" } else { "\n" };
        format!("### {}\n\n{}\n\n{}{space}{notes}", self.title, self.source, self.cells())
    }
}

/// A table with a row per case, to which columns are added.
pub(super) struct Over<'c, C> {
    cases: &'c [C],
    table: Table,
}

impl<'c, C> Over<'c, C> {
    /// Adds a column: the heading, and the cell of each case.
    #[must_use]
    pub(super) fn column<R: Into<Cell>>(
        mut self,
        heading: impl Into<String>,
        cell: impl Fn(&'c C) -> R,
    ) -> Self {
        self.table.columns.push(heading.into());
        for (row, case) in self.table.rows.iter_mut().zip(self.cases) {
            row.push(cell(case).into());
        }
        self
    }

    /// The finished table.
    pub(super) fn done(self) -> Table {
        self.table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_markdown() {
        let mut table = Table::new(Study::MergePath, "A", "Figure 2", &["a", "b", "c"]);
        table.row(["x".into(), 0.25.into(), Cell::None]);
        table.row(["y".into(), f64::NAN.into(), Some(3_usize).into()]);
        table.note("none");
        assert_eq!(
            table.to_markdown(),
            "### A\n\nFigure 2\n\n| a | b | c |\n|---|---:|---:|\n| x | 0.25 | - |\n| y | - | 3 |\n\n- none\n"
        );
    }
}
