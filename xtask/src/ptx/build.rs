//! Builds a PTX folder from the sources, and checks a folder against them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};

use super::folder::{self, Files};
use super::set::Set;
use super::{Target, source, split, table};
use crate::toolchain::Toolchain;

/// Builds the kernels of a set for each target and returns the files of the folder.
///
/// # Errors
///
/// If a build fails, or the PTX does not match the kernel table.
pub fn build(root: &Path, set: &Set, toolchain: &Toolchain, targets: &[Target]) -> Result<Files> {
    let modules = table::modules_of((set.kernels)());
    let build_one = |target| {
        let text = toolchain.build_kernels(root, set.package, target)?;
        split::split(&text, &modules).with_context(|| format!("splitting {target}"))
    };
    // Each build is single-threaded most of the time.
    let built = std::thread::scope(|scope| {
        let builds: Vec<_> = targets.iter().map(|&target| scope.spawn(move || build_one(target))).collect();
        builds
            .into_iter()
            .map(|build| build.join().map_err(|_| anyhow!("a build panicked"))?)
            .collect::<Vec<_>>()
    });
    let mut texts = BTreeMap::new();
    for (&target, split) in targets.iter().zip(built) {
        texts.insert(target, split?);
    }
    let hash = source::hash_of(root, set)?;
    let mut files = folder::files(hash, toolchain.compiler.clone(), modules, &texts)?;
    if !set.has_index {
        files.remove(folder::INDEX);
    }
    Ok(files)
}

/// Checks a folder against the sources: byte for byte if its manifest names the compiler of this toolchain,
/// otherwise only the kernels' names, parameters and block sizes. Returns a description of the check.
///
/// # Errors
///
/// If files differ; the error lists them.
pub fn check(root: &Path, set: &Set, at: &Path, toolchain: &Toolchain, targets: &[Target]) -> Result<String> {
    let manifest = folder::read_manifest(at)?;
    let mut expected = build(root, set, toolchain, targets)?;
    let mut found = folder::read(at)?;
    if targets != super::TARGETS {
        folder::complete(&mut found);
        folder::complete(&mut expected);
        folder::retain_targets(&mut expected, targets);
        folder::retain_targets(&mut found, targets);
    }
    if manifest.compiler == toolchain.compiler {
        folder::demand_none(at, &folder::differences(&expected, &found))?;
        return Ok(format!("{} files match the sources byte for byte", found.len()));
    }
    folder::demand_none(at, &folder::interface_differences(&expected, &found)?)?;
    Ok(format!(
        "built with another compiler ({} with LLVM {}), so only the kernels' names, parameters and block sizes were compared; they match",
        manifest.compiler.rustc, manifest.compiler.llvm
    ))
}
