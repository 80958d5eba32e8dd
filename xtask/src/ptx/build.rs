//! From the sources to a folder of PTX, and back: is a folder what the sources give?

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};

use super::folder::{self, Files};
use super::{Target, source, split, table};
use crate::toolchain::Toolchain;

/// Builds the kernels for each target and lays out the folder.
///
/// # Errors
///
/// When a build fails, or the PTX does not agree with the kernel table.
pub fn build(root: &Path, toolchain: &Toolchain, targets: &[Target]) -> Result<Files> {
    let modules = table::modules();
    let build_one = |target| {
        let text = toolchain.build_kernels(root, target)?;
        split::split(&text, &modules).with_context(|| format!("splitting {target}"))
    };
    // Each build is one compiler thread for most of its time.
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
    folder::files(source::hash(root)?, toolchain.compiler.clone(), modules, &texts)
}

/// Checks that a folder is what the sources give: byte for byte when its manifest names this
/// toolchain's compiler, else in the kernels' names, parameters and block sizes. Returns which of the
/// two it was, in words.
///
/// # Errors
///
/// Lists the files that differ.
pub fn check(root: &Path, at: &Path, toolchain: &Toolchain, targets: &[Target]) -> Result<String> {
    let manifest = folder::read_manifest(at)?;
    let mut expected = build(root, toolchain, targets)?;
    let mut found = folder::read(at)?;
    if targets != super::TARGETS {
        folder::retain_targets(&mut expected, targets);
        folder::retain_targets(&mut found, targets);
    }
    if manifest.compiler == toolchain.compiler {
        folder::demand_none(at, &folder::differences(&expected, &found))?;
        return Ok(format!("{} files are byte for byte what the sources give", found.len()));
    }
    folder::demand_none(at, &folder::interface_differences(&expected, &found)?)?;
    Ok(format!(
        "built with another compiler ({} with LLVM {}), so only the kernels' names, parameters and \
         block sizes were compared: they agree",
        manifest.compiler.rustc, manifest.compiler.llvm
    ))
}
