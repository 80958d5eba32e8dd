//! The report of a study: cases and tables, printed and written to a file.

use std::error::Error;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::file::{Case, CaseLine, StudyFile};
use super::name::Study;
use super::table::Table;
use crate::results::{AppendFile, ResultsError, Setting, SettingLine, check_setting, to_line};

/// A callback for finished tables.
type Print<'r> = dyn FnMut(&Table) -> Result<(), Box<dyn Error>> + 'r;

/// Takes the cases of a study, each before the next is measured, and its tables, each as soon as it is finished.
pub(crate) struct Report<'r> {
    study: Study,
    contents: StudyFile,
    print: &'r mut Print<'r>,
    out: Option<AppendFile>,
}

impl<'r> Report<'r> {
    /// A report without a file.
    pub(crate) fn new(study: Study, setting: Setting, print: &'r mut Print<'r>) -> Self {
        Self { study, contents: StudyFile::new(setting), print, out: None }
    }

    /// The same, written to a file too. Cases that the file has are kept, and not measured again; its tables are replaced.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened, another program has it open, a line is invalid, or it has results of another setting or
    /// study. Then the file is unchanged.
    pub(crate) fn into_file(mut self, path: &Path) -> Result<Self, ResultsError> {
        let (mut out, text) = AppendFile::open(path)?;
        let mut kept = 0;
        if !text.is_empty() {
            let (contents, before_tables) = StudyFile::parse(path, &text)?;
            check_setting(path, 1, &self.contents.setting, &contents.setting)?;
            let studies = contents.cases.iter().map(|case| case.study);
            let mut studies = studies.chain(contents.tables.iter().map(|table| table.study));
            if let Some(study) = studies.find(|&study| study != self.study) {
                return Err(ResultsError::Study { path: path.into(), study: study.name() });
            }
            self.contents = StudyFile { tables: Vec::new(), ..contents };
            kept = before_tables;
        }
        out.keep(kept)?;
        if kept == 0 {
            out.append(&to_line(&SettingLine { setting: &self.contents.setting }))?;
        }
        self.out = Some(out);
        Ok(self)
    }

    /// The study.
    pub(crate) fn study(&self) -> Study {
        self.study
    }

    /// Returns whether no table has wrong results.
    pub(crate) fn is_right(&self) -> bool {
        self.contents.tables.iter().all(|table| table.wrong.is_empty())
    }

    /// Takes a finished table.
    pub(super) fn table(&mut self, table: Table) -> Result<(), Box<dyn Error>> {
        (self.print)(&table)?;
        if let Some(out) = &mut self.out {
            out.append(&to_line(&table))?;
        }
        self.contents.tables.push(table);
        Ok(())
    }

    /// Takes the figures of a case.
    pub(super) fn record(&mut self, name: &str, figures: &impl Serialize) -> Result<(), Box<dyn Error>> {
        let case = Case { study: self.study, name: name.into(), figures: serde_json::to_value(figures)? };
        if let Some(out) = &mut self.out {
            out.append(&to_line(&CaseLine { case: &case }))?;
        }
        self.contents.cases.push(case);
        Ok(())
    }

    /// Returns whether there are figures of a case.
    pub(super) fn has(&self, name: &str) -> bool {
        self.contents.cases.iter().any(|case| case.name == name)
    }

    /// The figures of a case, if there are any.
    pub(super) fn case<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Box<dyn Error>> {
        let Some(case) = self.contents.cases.iter().find(|case| case.name == name) else { return Ok(None) };
        let figures = T::deserialize(&case.figures).map_err(|error| format!("the case `{name}`: {error}"))?;
        Ok(Some(figures))
    }
}

#[cfg(test)]
mod tests {
    use evenpath::Device;

    use super::*;

    fn setting() -> Setting {
        Setting::new(&Device::cpu(), 1.0, &[], String::new())
    }

    fn table(study: Study) -> Table {
        Table::new(study, "A", "Figure 2", &["a"])
    }

    #[test]
    fn a_study_continues_its_own_file() {
        let folder = tempfile::tempdir().expect("a folder");
        for study in [Study::MergePath, Study::Hisparse] {
            let path = folder.path().join(study.name());
            let mut print = |_: &Table| Ok(());
            let mut report = Report::new(study, setting(), &mut print).into_file(&path).expect("a new file");
            report.record("a", &1.5).expect("written");
            assert_eq!(report.case::<f64>("a").expect("a number"), Some(1.5));
            assert!(report.case::<String>("a").unwrap_err().to_string().contains("`a`: invalid type"));
            report.table(table(study)).expect("written");
            drop(report);

            let before = std::fs::read(&path).expect("a file");
            let mut print = |_: &Table| Ok(());
            let other = Report::new(Study::RowSorting, setting(), &mut print).into_file(&path);
            let error = other.map(drop).unwrap_err().to_string();
            assert!(error.contains(&format!("results of the study `{}`", study.name())), "{error}");
            assert_eq!(std::fs::read(&path).expect("a file"), before);
            let report = Report::new(study, setting(), &mut print).into_file(&path).expect("continued");
            assert_eq!(report.case::<f64>("a").expect("a number"), Some(1.5));
            assert!(!report.has("b") && report.contents.tables.is_empty());
        }
    }

    #[test]
    fn a_file_of_another_setting_is_refused_and_unchanged() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("study.jsonl");
        let other = Setting { device: "NVIDIA H200".into(), processor: None, ..setting() };
        let text = StudyFile::new(other).to_lines() + "{\"torn";
        std::fs::write(&path, &text).expect("written");
        let mut print = |_: &Table| Ok(());
        let error =
            Report::new(Study::Hisparse, setting(), &mut print).into_file(&path).map(drop).unwrap_err();
        assert!(error.to_string().contains("the device is NVIDIA H200 there, but CPU ("), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), text);
    }
}
