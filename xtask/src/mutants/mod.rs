//! Mutants: small mistakes that the tests must find.
//!
//! `xtask/mutants/*.toml` lists them, one file per area. A mutant names a file of the workspace, a text that occurs in
//! it exactly once, its replacement, and the tests that must then fail. [`run`] applies them one by one to a copy of the
//! workspace.

mod copy;
mod run;

pub use run::run;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// A mistake, and the tests that must find it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    /// Its name.
    pub name: String,
    /// Description of the mistake.
    pub mistake: String,
    /// The file, relative to the root of the workspace.
    pub file: String,
    /// The text to replace, which occurs exactly once in the file.
    pub find: String,
    /// The replacement.
    pub replace: String,
    /// The tests that must fail: the arguments of `cargo test`.
    pub test: Vec<String>,
}

/// A file of the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Area {
    mutant: Vec<Mutant>,
}

impl Mutant {
    /// Applies the mistake to the text of its file.
    ///
    /// # Errors
    ///
    /// If the text to replace does not occur exactly once, or equals its replacement.
    pub fn apply(&self, text: &str) -> Result<String> {
        let Self { name, file, find, replace, .. } = self;
        ensure!(!find.is_empty() && find != replace, "mutant `{name}` changes nothing");
        let count = text.matches(find.as_str()).count();
        ensure!(count == 1, "mutant `{name}`: the text to replace occurs {count} times in {file}, not once");
        Ok(text.replacen(find, replace, 1))
    }
}

/// The mutants in the `.toml` files of a folder, ordered by file name.
///
/// # Errors
///
/// If a file cannot be read or parsed, two mutants have the same name, or one has no test.
pub fn list(folder: &Path) -> Result<Vec<Mutant>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    let mut mutants = Vec::new();
    for path in paths {
        let what = || path.display().to_string();
        let area: Area = toml::from_str(&fs::read_to_string(&path).with_context(what)?).with_context(what)?;
        mutants.extend(area.mutant);
    }
    let mut names = BTreeSet::new();
    for Mutant { name, test, .. } in &mutants {
        ensure!(names.insert(name), "two mutants are named `{name}`");
        ensure!(!test.is_empty(), "mutant `{name}` has no test");
    }
    Ok(mutants)
}

/// The mutants with these names; all if `names` is empty.
///
/// # Errors
///
/// If there is no mutant with one of the names.
pub fn select(mutants: Vec<Mutant>, names: &[String]) -> Result<Vec<Mutant>> {
    if let Some(name) = names.iter().find(|&name| mutants.iter().all(|mutant| mutant.name != *name)) {
        let known: Vec<&str> = mutants.iter().map(|mutant| mutant.name.as_str()).collect();
        bail!("unknown mutant `{name}`; known mutants are {}", known.join(", "));
    }
    let is_wanted = |mutant: &Mutant| names.is_empty() || names.contains(&mutant.name);
    Ok(mutants.into_iter().filter(is_wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    fn mutants() -> Vec<Mutant> {
        list(&root().join("xtask/mutants")).unwrap()
    }

    #[test]
    fn every_mutant_fits_its_file() {
        let mutants = mutants();
        assert!(mutants.len() > 15);
        for mutant in mutants {
            let text = fs::read_to_string(root().join(&mutant.file)).unwrap();
            if let Err(error) = mutant.apply(&text) {
                panic!("{error}");
            }
        }
    }

    #[test]
    fn mutants_are_picked_by_name() {
        let all = mutants();
        assert_eq!(select(all.clone(), &[]).unwrap(), all);
        let one = select(all.clone(), &[all[1].name.clone()]).unwrap();
        assert_eq!(one, all[1..2]);
        let error = select(all.clone(), &["nobody".into()]).unwrap_err().to_string();
        assert!(error.contains("`nobody`") && error.contains(&all[0].name), "{error}");
    }

    #[test]
    fn mutants_that_do_not_fit_are_refused() {
        let mutant = Mutant {
            name: "m".into(),
            mistake: "wrong".into(),
            file: "f.rs".into(),
            find: "a".into(),
            replace: "b".into(),
            test: vec!["-p".into(), "p".into()],
        };
        assert_eq!(mutant.apply("xay").unwrap(), "xby");
        for text in ["", "aa", "xx"] {
            let error = mutant.apply(text).unwrap_err().to_string();
            assert!(error.contains("`m`") && error.contains("f.rs"), "{error}");
        }
        let same = Mutant { replace: "a".into(), ..mutant.clone() };
        assert!(same.apply("a").is_err());

        let folder = tempfile::tempdir().unwrap();
        let entry = |name: &str, test: &str| {
            format!(
                "[[mutant]]\nname = '{name}'\nmistake = ''\nfile = ''\nfind = ''\nreplace = ''\ntest = {test}\n"
            )
        };
        for (text, reason) in [
            (entry("m", "['t']") + &entry("m", "['t']"), "two mutants are named `m`"),
            (entry("m", "[]"), "no test"),
            (entry("m", "['t']") + "more = 1\n", "more"),
        ] {
            fs::write(folder.path().join("area.toml"), text).unwrap();
            let error = format!("{:#}", list(folder.path()).unwrap_err());
            assert!(error.contains(reason), "{error}");
        }
    }
}
