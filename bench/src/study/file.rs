//! The files that store cases of studies, which are resumed, and tables.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::name::Study;
use super::table::Table;
use crate::results::{ResultsError, Setting, SettingLine, failed, whole_lines};

/// The results of a study, and their setting.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StudyFile {
    /// The setting of the measurements.
    pub(crate) setting: Setting,
    pub(crate) cases: Vec<Case>,
    pub(crate) tables: Vec<Table>,
}

/// Measurements of a case, from which the tables are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Case {
    pub(crate) study: Study,
    /// The matrix and the part of the study.
    pub(crate) name: String,
    /// Results that the study needs.
    pub(crate) figures: serde_json::Value,
}

/// A line with a case.
#[derive(Serialize, Deserialize)]
pub(super) struct CaseLine<C> {
    pub(super) case: C,
}

impl StudyFile {
    /// A file without results.
    pub(crate) fn new(setting: Setting) -> Self {
        Self { setting, cases: Vec::new(), tables: Vec::new() }
    }

    /// The lines of the file: the setting, then one case per line, then one table per line.
    #[cfg(test)]
    pub(super) fn to_lines(&self) -> String {
        use crate::results::to_line;
        let setting = to_line(&SettingLine { setting: &self.setting });
        let cases = self.cases.iter().map(|case| to_line(&CaseLine { case }));
        let tables = self.tables.iter().map(to_line);
        std::iter::once(setting).chain(cases).chain(tables).collect()
    }

    /// Reads a file. An unfinished last line is ignored.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or a line is not in the format of [`to_lines`](Self::to_lines).
    pub(crate) fn read(path: &Path) -> Result<Self, ResultsError> {
        let text = std::fs::read_to_string(path).map_err(|source| failed(path, source))?;
        Ok(Self::parse(path, &text[..whole_lines(&text)])?.0)
    }

    /// Parses complete lines. Also returns the bytes of those before the first table.
    pub(super) fn parse(path: &Path, text: &str) -> Result<(Self, usize), ResultsError> {
        let wrong = |line: usize, error: &dyn std::error::Error| ResultsError::Line {
            path: path.into(),
            line,
            reason: error.to_string(),
        };
        let mut lines = text.split_inclusive('\n');
        let first = lines.next().unwrap_or_default();
        let SettingLine { setting } = serde_json::from_str(first).map_err(|error| wrong(1, &error))?;
        let (mut file, mut before_tables) = (Self::new(setting), first.len());
        for (line, number) in lines.zip(2..) {
            if line.starts_with("{\"case\":") && file.tables.is_empty() {
                let CaseLine { case } = serde_json::from_str(line).map_err(|error| wrong(number, &error))?;
                file.cases.push(case);
                before_tables += line.len();
            } else {
                file.tables.push(serde_json::from_str(line).map_err(|error| wrong(number, &error))?);
            }
        }
        Ok((file, before_tables))
    }
}

#[cfg(test)]
mod tests {
    use evenpath::Device;

    use super::*;

    #[test]
    fn files_round_trip() {
        let mut table = Table::new(Study::MergePath, "A", "Figure 2", &["a", "b"]);
        table.row(["x".into(), 0.25.into()]);
        let case =
            Case { study: Study::Hisparse, name: "a, f32".into(), figures: serde_json::json!([1.5, null]) };
        let setting = Setting::new(&Device::cpu(), 1.0, &[], String::new());
        let file = StudyFile { setting, cases: vec![case.clone(), case], tables: vec![table.clone(), table] };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("study.jsonl");
        std::fs::write(&path, file.to_lines() + "{\"torn").expect("written");
        assert_eq!(StudyFile::read(&path).expect("read"), file);
        std::fs::write(&path, "{}\n").expect("written");
        assert!(StudyFile::read(&path).unwrap_err().to_string().contains("line 1: missing field"));
        std::fs::write(&path, file.to_lines().replace("\"figures\"", "\"figure\"")).expect("written");
        assert!(StudyFile::read(&path).unwrap_err().to_string().contains("line 2: missing field `figures`"));
    }
}
