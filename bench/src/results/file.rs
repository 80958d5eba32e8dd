//! Files of results: reading them, and resuming one.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Key, Row, Setting, VERSION};

/// Errors in reading or writing a file of results.
#[derive(Debug, Error)]
pub(crate) enum ResultsError {
    /// The file cannot be opened, read or written.
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// Another program is writing to it.
    #[error("{}: another program is writing to it", .0.display())]
    Locked(PathBuf),
    /// A line is not a result or setting.
    #[error("{}, line {line}: {reason}", path.display())]
    Line {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        reason: String,
    },
    /// The file has results of another study.
    #[error("{}: there are results of the study `{study}`, which another study cannot continue; name another file", path.display())]
    Study {
        path: PathBuf,
        /// The name of the study.
        study: &'static str,
    },
    /// The results in the file were measured elsewhere, or beside other libraries.
    #[error("{}, line {line}: results of another setting: {difference}; name another file", path.display())]
    Setting {
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The difference.
        difference: String,
    },
}

/// A line with a setting.
#[derive(Serialize, Deserialize)]
pub(crate) struct SettingLine<S> {
    pub(crate) setting: S,
}

/// The contents of files: rows, each with the setting that it was measured in.
#[derive(Debug, Clone, Default)]
pub(crate) struct Results {
    /// The distinct settings, in order of appearance.
    pub(crate) settings: Vec<Setting>,
    rows: Vec<(usize, Row)>,
    /// The index of each row in `rows`.
    places: BTreeMap<Key, usize>,
}

impl Results {
    /// Reads a file. An unfinished last line is ignored.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a line is invalid.
    pub(crate) fn read(path: &Path) -> Result<Self, ResultsError> {
        let text = std::fs::read_to_string(path).map_err(|source| failed(path, source))?;
        Ok(Self::parse(path, &text)?.0)
    }

    /// The rows in order of appearance, each with its setting.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&Setting, &Row)> {
        self.rows.iter().map(|(setting, row)| (&self.settings[*setting], row))
    }

    /// The row with this key, if there is one.
    pub(crate) fn get(&self, key: &Key) -> Option<&Row> {
        self.places.get(key).map(|&place| &self.rows[place].1)
    }

    /// Parses the complete lines of a text. Also returns the line of each setting.
    fn parse(path: &Path, text: &str) -> Result<(Self, Vec<usize>), ResultsError> {
        let mut results = Self::default();
        let (mut current, mut setting_lines) = (None, Vec::new());
        for (index, line) in text[..whole_lines(text)].lines().enumerate() {
            let wrong = |reason: String| ResultsError::Line { path: path.into(), line: index + 1, reason };
            let parsed: serde_json::Value =
                serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
            if let Some(setting) = parsed.get("setting") {
                if setting["version"] != VERSION {
                    return Err(wrong(format!("results of version {}, not {VERSION}", setting["version"])));
                }
                let SettingLine { setting } = serde_json::from_value(parsed)
                    .map_err(|error| wrong(format!("invalid setting: {error}")))?;
                let known = results.settings.iter().position(|known| *known == setting);
                current = Some(known.unwrap_or_else(|| {
                    results.settings.push(setting);
                    setting_lines.push(index + 1);
                    results.settings.len() - 1
                }));
                continue;
            }
            let row =
                serde_json::from_value(parsed).map_err(|error| wrong(format!("invalid result: {error}")))?;
            let Some(setting) = current else {
                return Err(wrong("a result without a setting before it".into()));
            };
            results.insert(setting, row);
        }
        Ok((results, setting_lines))
    }

    fn insert(&mut self, setting: usize, row: Row) {
        if let Some(&place) = self.places.get(&row.key) {
            self.rows[place] = (setting, row);
        } else {
            self.places.insert(row.key.clone(), self.rows.len());
            self.rows.push((setting, row));
        }
    }
}

/// The length of the complete lines in bytes.
pub(crate) fn whole_lines(text: &str) -> usize {
    text.rfind('\n').map_or(0, |end| end + 1)
}

pub(crate) fn failed(path: &Path, source: io::Error) -> ResultsError {
    ResultsError::File { path: path.into(), source }
}

/// A file to which lines are appended, and that no other program has open.
pub(crate) struct AppendFile {
    path: PathBuf,
    file: File,
}

impl AppendFile {
    /// Opens or creates a file. Returns its complete lines too; the file is unchanged.
    ///
    /// # Errors
    ///
    /// If it cannot be opened or read, or another program has it open.
    pub(crate) fn open(path: &Path) -> Result<(Self, String), ResultsError> {
        let failed = |source| failed(path, source);
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(path).map_err(failed)?;
        match file.try_lock() {
            // Without support for locks, other programs are not excluded.
            Ok(()) => {}
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed(error)),
            Err(TryLockError::WouldBlock) => return Err(ResultsError::Locked(path.into())),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        // An interruption may have split a UTF-8 character.
        bytes.truncate(bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1));
        let text = String::from_utf8(bytes)
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        Ok((Self { path: path.into(), file }, text))
    }

    /// Removes all but the first bytes.
    ///
    /// # Errors
    ///
    /// If the file cannot be changed.
    pub(crate) fn keep(&mut self, bytes: usize) -> Result<(), ResultsError> {
        let kept = self.file.set_len(bytes as u64).and_then(|()| self.file.seek(SeekFrom::End(0)));
        kept.map(drop).map_err(|source| failed(&self.path, source))
    }

    /// Appends complete lines.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub(crate) fn append(&mut self, lines: &str) -> Result<(), ResultsError> {
        self.file.write_all(lines.as_bytes()).map_err(|source| failed(&self.path, source))
    }
}

/// A file to which rows are appended, each written before the next one is measured.
pub(crate) struct ResultsFile {
    file: AppendFile,
    setting: Setting,
    /// True if the setting has been written in this run.
    has_setting: bool,
}

impl ResultsFile {
    /// Opens or creates a file, and returns its results. An unfinished last line, left by an interruption, is
    /// removed.
    ///
    /// # Errors
    ///
    /// If it cannot be opened, another program has it open, or a line is invalid or of another setting. Then
    /// the file is unchanged.
    pub(crate) fn open(path: &Path, setting: Setting) -> Result<(Self, Results), ResultsError> {
        let (mut file, text) = AppendFile::open(path)?;
        let (results, setting_lines) = Results::parse(path, &text)?;
        for (other, line) in results.settings.iter().zip(setting_lines) {
            check_setting(path, line, &setting, other)?;
        }
        file.keep(text.len())?;
        Ok((Self { file, setting, has_setting: false }, results))
    }

    /// Appends a row.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn append(&mut self, row: &Row) -> Result<(), ResultsError> {
        let mut line = String::new();
        if !self.has_setting {
            line += &to_line(&SettingLine { setting: &self.setting });
            self.has_setting = true;
        }
        self.file.append(&(line + &to_line(row)))
    }
}

/// Checks that the setting of a file, in this line, is that of the run.
///
/// # Errors
///
/// If results of both may not be in one file.
pub(crate) fn check_setting(
    path: &Path,
    line: usize,
    setting: &Setting,
    other: &Setting,
) -> Result<(), ResultsError> {
    let path = path.into();
    setting.agrees(other).map_err(|difference| ResultsError::Setting { path, line, difference })
}

pub(crate) fn to_line(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).unwrap_or_else(|error| unreachable!("plain data: {error}"));
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use evenpath::Device;

    use super::*;
    use crate::results::Op;

    fn setting() -> Setting {
        Setting::new(&Device::cpu(), 10.0, &[], "suite".into())
    }

    fn row(matrix: &str, reason: &str) -> Row {
        let key = Key {
            op: Op::Spmv,
            variant: String::new(),
            suite: "-".into(),
            matrix: matrix.into(),
            value: "f64".into(),
        };
        Row::failed(key, None, reason)
    }

    fn path() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.jsonl");
        (folder, path)
    }

    fn append(path: &Path, setting: Setting, rows: &[Row]) -> Results {
        let (mut file, results) = ResultsFile::open(path, setting).unwrap();
        for row in rows {
            file.append(row).unwrap();
        }
        results
    }

    #[test]
    fn what_was_measured_is_there_again_and_the_last_counts() {
        let (_folder, path) = path();
        assert_eq!(append(&path, setting(), &[row("a", "x"), row("b", "y")]).rows().count(), 0);
        let later = Setting { copy_gbps: 11.0, ..setting() };
        assert_eq!(append(&path, later, &[row("a", "z")]).rows().count(), 2);
        let results = Results::read(&path).unwrap();
        let found: Vec<_> =
            results.rows().map(|(setting, row)| (setting.copy_gbps as u32, row.clone())).collect();
        assert_eq!(found, [(11, row("a", "z")), (10, row("b", "y"))]);
        assert_eq!(results.get(&row("b", "").key), Some(&row("b", "y")));
    }

    #[test]
    fn a_torn_line_is_removed() {
        let (_folder, path) = path();
        append(&path, setting(), &[row("a", "x"), row("b", "y")]);
        let whole = std::fs::read(&path).unwrap();
        for cut in [1, 10] {
            std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
            assert_eq!(Results::read(&path).unwrap().rows().count(), 1);
            assert_eq!(append(&path, setting(), &[row("b", "y")]).rows().count(), 1);
            assert_eq!(Results::read(&path).unwrap().rows().count(), 2);
        }
    }

    #[test]
    fn what_does_not_belong_is_refused_and_nothing_lost() {
        let (_folder, path) = path();
        append(&path, setting(), &[row("a", "x")]);
        let mut text = std::fs::read_to_string(&path).unwrap() + "torn";
        std::fs::write(&path, &text).unwrap();
        let other = Setting { driver: Some("580".into()), ..setting() };
        let error = ResultsFile::open(&path, other).map(drop).unwrap_err().to_string();
        assert!(
            error.contains("line 1: results of another setting: the driver is none there, but 580 here"),
            "{error}"
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);

        for (line, reason) in [
            ("nonsense", "line 3: expected"),
            ("{}", "line 3: invalid result: missing field"),
            ("{\"setting\":{\"version\":99}}", "results of version 99, not 1"),
        ] {
            let wrong = text.replace("torn", &format!("{line}\n"));
            std::fs::write(&path, &wrong).unwrap();
            let error = ResultsFile::open(&path, setting()).map(drop).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), wrong);
        }
        text = text.lines().skip(1).collect::<Vec<_>>().join("\n");
        std::fs::write(&path, &text).unwrap();
        assert!(Results::read(&path).unwrap_err().to_string().contains("without a setting"));
    }

    #[test]
    fn two_programs_do_not_write_to_one_file() {
        let (_folder, path) = path();
        let (_file, _) = ResultsFile::open(&path, setting()).unwrap();
        assert!(matches!(ResultsFile::open(&path, setting()), Err(ResultsError::Locked(_))));
    }
}
