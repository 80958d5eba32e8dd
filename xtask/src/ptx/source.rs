//! The hash of everything in this repository that the PTX depends on.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::TARGETS;
use super::set::{LIBRARY, Set};
use crate::toolchain;

/// Parts of the crates that are compiled only for the host.
const HOST_ONLY: [&str; 2] = ["simt/src/host", "simt/src/kernel.rs"];

/// The hash of the library's kernels.
///
/// # Errors
///
/// If a source cannot be read.
pub fn hash(root: &Path) -> Result<String> {
    hash_of(root, &LIBRARY)
}

/// Hashes the path and text of each file of a set, in order of path, and the flags of the compiler.
///
/// # Errors
///
/// If a source cannot be read.
pub fn hash_of(root: &Path, set: &Set) -> Result<String> {
    let mut hash = Sha256::new();
    for flag in TARGETS.into_iter().flat_map(toolchain::flags) {
        hash.update(flag.as_bytes());
        hash.update([0]);
    }
    for path in files(root, set)? {
        let text = fs::read(root.join(&path)).with_context(|| format!("reading {}", path.display()))?;
        hash.update(path.to_string_lossy().as_bytes());
        hash.update([0]);
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(&text);
    }
    let mut text = String::from("sha256:");
    for byte in hash.finalize() {
        write!(text, "{byte:02x}")?;
    }
    Ok(text)
}

/// The files that are hashed, relative to the root and sorted.
///
/// # Errors
///
/// If a folder cannot be read.
pub fn files(root: &Path, set: &Set) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for name in set.crates {
        files.push(Path::new(name).join("Cargo.toml"));
        collect(root, &Path::new(name).join("src"), &mut files)?;
    }
    files.sort();
    Ok(files)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let reading = || format!("reading the folder {}", folder.display());
    for entry in fs::read_dir(root.join(folder)).with_context(reading)? {
        let entry = entry.with_context(reading)?;
        let path = folder.join(entry.file_name());
        if HOST_ONLY.iter().any(|host_only| path == Path::new(host_only)) {
            continue;
        }
        if entry.file_type().with_context(reading)?.is_dir() {
            collect(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for path in ["kernels/src/spmv", "simt/src/host", "simt/src/gpu", "simt/macros/src"] {
            fs::create_dir_all(root.path().join(path)).unwrap();
        }
        for path in [
            "kernels/Cargo.toml",
            "simt/Cargo.toml",
            "simt/macros/Cargo.toml",
            "simt/macros/src/lib.rs",
            "kernels/src/spmv/merge.rs",
            "simt/src/gpu/mod.rs",
            "simt/src/kernel.rs",
            "simt/src/host/mod.rs",
            "simt/src/notes.md",
        ] {
            fs::write(root.path().join(path), path).unwrap();
        }
        root
    }

    #[test]
    fn only_what_the_gpu_compiles_counts() {
        let root = scratch();
        let files = files(root.path(), &LIBRARY).unwrap();
        let files: Vec<_> = files.iter().map(|path| path.to_str().unwrap()).collect();
        let expected = [
            "kernels/Cargo.toml",
            "kernels/src/spmv/merge.rs",
            "simt/Cargo.toml",
            "simt/macros/Cargo.toml",
            "simt/macros/src/lib.rs",
            "simt/src/gpu/mod.rs",
        ];
        assert_eq!(files, expected);
    }

    #[test]
    fn the_hash_follows_text_and_name_but_not_place() {
        let (one, other) = (scratch(), scratch());
        let first = hash(one.path()).unwrap();
        assert_eq!(first, hash(other.path()).unwrap());
        let path = other.path().join("simt/src/gpu/mod.rs");
        fs::write(&path, "changed").unwrap();
        assert_ne!(first, hash(other.path()).unwrap());
        fs::remove_file(&path).unwrap();
        fs::write(other.path().join("simt/src/gpu/new.rs"), "simt/src/gpu/mod.rs").unwrap();
        assert_ne!(first, hash(other.path()).unwrap());
    }
}
