//! The page that the program's `report` makes of results: tables of all of them, and plots.
//!
//! The same results give the same bytes.

mod operation;
mod plots;
pub(crate) mod text;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::cases::Op;
use crate::results::{Results, ResultsError, Row, Setting};
use crate::study::StudyFile;
use text::{Markdown, number};

/// A page and its plots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The page, in Markdown.
    pub markdown: String,
    /// Plots as SVG, each with the name of its file.
    pub plots: Vec<(String, String)>,
}

/// Why there is no page.
#[derive(Debug, Error)]
pub enum PageError {
    /// A file or folder cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file has no results.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// The folder has no results.
    #[error("{}: no file of results (*.jsonl)", .0.display())]
    Nothing(PathBuf),
}

/// The rows of a device and the libraries that were measured beside it.
pub(crate) struct Place<'r> {
    /// The first of its settings: all have one device, driver and peers.
    pub(crate) setting: &'r Setting,
    /// A short name, for files.
    pub(crate) name: String,
    pub(crate) rows: Vec<(&'r Setting, &'r Row)>,
}

/// How names of files of studies begin.
const STUDY_PREFIX: &str = "study-";

const BEGINNING: &str = "# Measurements\n\n\
This page is made by `evenpath-bench report` from the files in `results/`, and is never edited. How to read it: a ratio is the \
time of a library's fastest algorithm with a right result, its analysis not counted, divided by the time of evenpath's fastest \
way: above 1 evenpath is faster, **below 1 it is slower**. Every result is checked against one computed in f64. \"Of copy\" is \
the share of the rate at which the device copies within its memory, every array counted once; small matrices stay in the \
second-level cache and may exceed it. Times are medians, in milliseconds.\n\n";

impl Page {
    /// Makes the page of the files of results in a folder, in the order of their names.
    ///
    /// # Errors
    ///
    /// If the folder or a file of it cannot be read, or there is none.
    pub fn of_folder(folder: &Path) -> Result<Self, PageError> {
        let mut paths: Vec<PathBuf> = fs::read_dir(folder)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>())
            .map_err(|source| PageError::File { path: folder.into(), source })?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        paths.sort_unstable();
        if paths.is_empty() {
            return Err(PageError::Nothing(folder.into()));
        }
        let (mut files, mut studies) = (Vec::new(), Vec::new());
        for path in &paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(STUDY_PREFIX) {
                let failed = |source| PageError::File { path: path.clone(), source };
                studies.push(StudyFile::read(path).map_err(failed)?);
            } else {
                files.push(Results::read(path)?);
            }
        }
        Ok(Self::new(&files, &studies))
    }

    /// Makes the page of results and of studies.
    pub fn new(files: &[Results], studies: &[StudyFile]) -> Self {
        let mut page = Self { markdown: BEGINNING.into(), plots: Vec::new() };
        let settings = files.iter().flat_map(|file| &file.settings);
        page.settings(settings.chain(studies.iter().map(|study| &study.setting)));
        for place in places(files) {
            page.place(&place);
        }
        for study in studies {
            page.study(study);
        }
        page
    }

    /// Writes page and plots into a folder: `README.md`, and the plots by their names. Plots of an earlier page that this one
    /// has not are removed.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), PageError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            |source| PageError::File { path, source }
        };
        fs::create_dir_all(folder).map_err(failed(folder))?;
        for entry in fs::read_dir(folder).map_err(failed(folder))? {
            let path = entry.map_err(failed(folder))?.path();
            if path.extension().is_some_and(|extension| extension == "svg") {
                fs::remove_file(&path).map_err(failed(&path))?;
            }
        }
        for (name, text) in self.plots.iter().chain([&("README.md".to_owned(), self.markdown.clone())]) {
            let path = folder.join(name);
            fs::write(&path, text).map_err(failed(&path))?;
        }
        Ok(())
    }

    fn settings<'s>(&mut self, settings: impl Iterator<Item = &'s Setting>) {
        let headings = ["device", "driver", "copies at, GB/s", "L2, MB", "beside", "evenpath", "command"]
            .map(str::to_owned);
        let mut table = Markdown::new(&headings);
        for setting in settings {
            let none = || "-".to_owned();
            table.row([
                setting.device.clone(),
                setting.driver.clone().unwrap_or_else(none),
                number(setting.copy_gbps),
                setting.l2_bytes.map_or_else(none, |bytes| number(bytes as f64 / 1e6)),
                if setting.peers.is_empty() { none() } else { setting.peers.join(", ") },
                setting.evenpath.clone(),
                format!("`{}`", setting.command),
            ]);
        }
        // Writing to a String does not fail, here and below.
        let _ = write!(self.markdown, "## What was measured with what\n\n{}", table.finish());
    }

    fn place(&mut self, place: &Place<'_>) {
        for op in Op::ALL {
            let rows: Vec<_> = place.rows.iter().copied().filter(|(_, row)| row.key.op == op).collect();
            if !rows.is_empty() {
                self.operation(place, op, &rows);
            }
        }
    }

    fn study(&mut self, study: &StudyFile) {
        let Some(first) = study.tables.first() else { return };
        let _ = write!(self.markdown, "\n## {}: the study `{}`\n", study.setting.device, first.study.name());
        for table in &study.tables {
            let _ = write!(self.markdown, "\n{}", table.to_markdown());
        }
    }

    fn operation(&mut self, place: &Place<'_>, op: Op, rows: &[(&Setting, &Row)]) {
        let _ = write!(self.markdown, "\n## {}: {}\n\n", place.setting.device, operation::title(op));
        self.markdown += &operation::summary(rows);
        for plot in plots::of_operation(op, rows) {
            let name = format!("{}-{op}-{}.svg", place.name, plot.name);
            let _ = writeln!(self.markdown, "\n![{}]({name})", plot.plot.title);
            self.plots.push((name, plot.plot.to_svg()));
        }
        self.markdown += &operation::tables(rows);
        self.markdown += &operation::failures(rows);
    }
}

/// The rows, by device and peers, in the order in which they come; of rows with one key the last counts.
fn places(files: &[Results]) -> Vec<Place<'_>> {
    let mut places: Vec<Place<'_>> = Vec::new();
    for (setting, row) in files.iter().flat_map(Results::rows) {
        let index =
            places.iter().position(|place| place.setting.agrees(setting).is_ok()).unwrap_or_else(|| {
                let same = places.iter().filter(|place| place.setting.device == setting.device).count();
                let number = if same == 0 { String::new() } else { format!("-{}", same + 1) };
                let name = format!("{}{number}", file_name(&setting.device));
                places.push(Place { setting, name, rows: Vec::new() });
                places.len() - 1
            });
        let rows = &mut places[index].rows;
        match rows.iter().position(|(_, known)| known.key == row.key) {
            Some(known) => rows[known] = (setting, row),
            None => rows.push((setting, row)),
        }
    }
    places
}

/// A device's name as part of a file's.
fn file_name(device: &str) -> String {
    let words = device.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

/// The different values of something, sorted.
pub(crate) fn distinct<T: Ord>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    values.into_iter().collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_name_files() {
        assert_eq!(file_name("NVIDIA H200"), "nvidia-h200");
        assert_eq!(file_name("CPU"), "cpu");
    }

    #[test]
    fn a_folder_without_results_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = Page::of_folder(folder.path()).unwrap_err();
        assert!(matches!(error, PageError::Nothing(_)) && error.to_string().contains("*.jsonl"), "{error}");
        let error = Page::of_folder(&folder.path().join("none")).unwrap_err();
        assert!(error.to_string().contains("none: "), "{error}");
    }
}
