//! Tables of studies.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::name::Study;
use crate::markdown::{Markdown, number};

/// A table with evenpath's figures beside published ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    /// The study.
    pub(crate) study: Study,
    /// The title.
    pub(crate) title: String,
    /// The table or figure of the publication.
    pub(crate) source: String,
    /// Headings.
    pub(crate) columns: Vec<String>,
    /// Rows, with one cell per column.
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Notes, including what was skipped and why.
    pub(crate) notes: Vec<String>,
    /// Wrong results.
    pub(crate) wrong: Vec<String>,
}

/// Cells that one case adds to a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Part {
    rows: Vec<Vec<Cell>>,
    notes: Vec<String>,
    wrong: Vec<String>,
}

impl From<Table> for Part {
    fn from(Table { rows, notes, wrong, .. }: Table) -> Self {
        Self { rows, notes, wrong }
    }
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

    /// Adds what a case has: notes that several cases share, once.
    pub(super) fn extend(&mut self, Part { rows, notes, wrong }: Part) {
        for row in rows {
            self.row(row);
        }
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        self.wrong.extend(wrong);
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
