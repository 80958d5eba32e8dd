//! A copy of the workspace that mutants are applied to.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Makes `to` a copy of the workspace: every file that git does not ignore, in its current state. Unchanged files are not
/// rewritten, to avoid rebuilds; other files in `to` are removed.
pub(super) fn update(root: &Path, to: &Path) -> Result<()> {
    let files = files(root)?;
    remove_others(to, to, &files)?;
    for file in &files {
        let text = fs::read(root.join(file)).with_context(|| root.join(file).display().to_string())?;
        write_if_changed(&to.join(file), &text)?;
    }
    Ok(())
}

/// The files of the workspace, relative to its root.
fn files(root: &Path) -> Result<BTreeSet<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .context("cannot start git")?;
    ensure!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr).trim());
    let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    // Deleted files are listed until the deletion is committed.
    Ok(names.split_terminator('\0').map(PathBuf::from).filter(|file| root.join(file).is_file()).collect())
}

/// Removes the files below `folder` that are not among `files`, which are relative to `top`.
fn remove_others(top: &Path, folder: &Path, files: &BTreeSet<PathBuf>) -> Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            remove_others(top, &path, files)?;
        } else if !path.strip_prefix(top).is_ok_and(|file| files.contains(file)) {
            fs::remove_file(&path).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}

/// Writes a file, unless it already has that text.
pub(super) fn write_if_changed(path: &Path, text: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let what = || path.display().to_string();
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(what)?;
    }
    fs::write(path, text).with_context(what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    #[test]
    fn a_copy_has_what_git_has_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("copy");
        // A minimal repository with a tracked, a new and an ignored file.
        let from = folder.path().join("from");
        fs::create_dir_all(from.join("src")).unwrap();
        let git = |arguments: &[&str]| {
            let status = Command::new("git").args(arguments).current_dir(&from).status().unwrap();
            assert!(status.success());
        };
        git(&["init", "--quiet"]);
        for (file, text) in [("src/a.rs", "a"), (".gitignore", "ignored"), ("ignored", ""), ("gone", "")] {
            fs::write(from.join(file), text).unwrap();
        }
        git(&["add", "src", "gone"]);
        fs::remove_file(from.join("gone")).unwrap();
        update(&from, &to).unwrap();
        let modified = |file: &str| fs::metadata(to.join(file)).unwrap().modified().unwrap();
        let before = modified("src/a.rs");

        fs::write(to.join("src/mutant.rs"), "").unwrap();
        fs::write(to.join(".gitignore"), "mutated").unwrap();
        update(&from, &to).unwrap();
        let found = |file: &str| fs::read_to_string(to.join(file)).ok();
        assert_eq!(found("src/a.rs").as_deref(), Some("a"));
        assert_eq!(found(".gitignore").as_deref(), Some("ignored"));
        assert_eq!([found("ignored"), found("gone"), found("src/mutant.rs")], [None, None, None]);
        assert_eq!(modified("src/a.rs"), before, "an unchanged file was rewritten");
    }

    #[test]
    fn the_workspace_is_listed() {
        if root().join(".git").exists() {
            let files = files(&root()).unwrap();
            assert!(files.contains(Path::new("xtask/src/mutants/copy.rs")));
            assert!(!files.iter().any(|file| file.starts_with("target")));
        }
    }
}
