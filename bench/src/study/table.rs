//! Tables of studies, and the files that store them.

use std::fmt;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Study;
use crate::page::text::{Markdown, number};
use crate::results::Setting;

/// A table with evenpath's figures beside published ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The study.
    pub study: Study,
    /// The title.
    pub title: String,
    /// The table or figure of the publication.
    pub source: String,
    /// Headings.
    pub columns: Vec<String>,
    /// Rows, with one cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Notes, including what was skipped and why.
    pub notes: Vec<String>,
    /// Wrong results.
    pub wrong: Vec<String>,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
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

    /// The table in Markdown, with its title, its source, and the notes.
    pub fn to_markdown(&self) -> String {
        let mut table = Markdown::new(&self.columns);
        for row in &self.rows {
            table.row(row.iter().map(Cell::to_string));
        }
        let notes = self.notes.iter().map(|note| format!("- {note}\n"));
        let wrong = self.wrong.iter().map(|wrong| format!("- **wrong**: {wrong}\n"));
        let notes: String = notes.chain(wrong).collect();
        let space = if notes.is_empty() { "" } else { "\n" };
        format!("### {}\n\n{}\n\n{}{space}{notes}", self.title, self.source, table.finish())
    }
}

/// The results of a study, and their setting.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyFile {
    /// Where it was measured.
    pub setting: Setting,
    /// The tables.
    pub tables: Vec<Table>,
}

#[derive(Serialize, Deserialize)]
struct SettingLine {
    setting: Setting,
}

impl StudyFile {
    /// The lines of the file: the setting, then one table per line.
    pub fn to_lines(&self) -> String {
        let line = |value: serde_json::Result<String>| {
            value.unwrap_or_else(|error| unreachable!("plain data: {error}")) + "\n"
        };
        let setting = line(serde_json::to_string(&SettingLine { setting: self.setting.clone() }));
        self.tables.iter().fold(setting, |text, table| text + &line(serde_json::to_string(table)))
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or a line is not in the format of [`to_lines`](Self::to_lines).
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = std::fs::read_to_string(path)?;
        let wrong = |line: usize, error: serde_json::Error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("line {line}: {error}"))
        };
        let mut lines = text.lines().enumerate();
        let first = lines.next().map_or("", |(_, line)| line);
        let SettingLine { setting } = serde_json::from_str(first).map_err(|error| wrong(1, error))?;
        let tables =
            lines.map(|(index, line)| serde_json::from_str(line).map_err(|error| wrong(index + 1, error)));
        Ok(Self { setting, tables: tables.collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use evenpath::Device;

    use super::*;

    #[test]
    fn tables_round_trip_and_are_markdown() {
        let mut table = Table::new(Study::MergePath, "A", "Figure 2", &["a", "b", "c"]);
        table.row(["x".into(), 0.25.into(), Cell::None]);
        table.row(["y".into(), f64::NAN.into(), Some(3_usize).into()]);
        table.note("none");
        assert_eq!(
            table.to_markdown(),
            "### A\n\nFigure 2\n\n| a | b | c |\n|---|---:|---:|\n| x | 0.25 | - |\n| y | - | 3 |\n\n- none\n"
        );
        let setting = Setting::new(&Device::cpu(), 1.0, &[], String::new());
        let file = StudyFile { setting, tables: vec![table.clone(), table] };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("study.jsonl");
        std::fs::write(&path, file.to_lines()).expect("written");
        assert_eq!(StudyFile::read(&path).expect("read"), file);
        std::fs::write(&path, "{}\n").expect("written");
        assert!(StudyFile::read(&path).unwrap_err().to_string().contains("line 1: missing field"));
    }
}
