//! A PTX folder, in its checked-in form, which the library can also load from elsewhere.
//!
//! ```text
//! manifest.json        where the PTX comes from, and every module's kernels
//! modules.rs           the modules as a Rust table, for the library to include
//! sm_75/<module>.ptx   every module, for the oldest target
//! sm_90/<module>.ptx   modules whose text is another one for this target
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::Target;
use super::table::Modules;
use super::text::Ptx;

const MANIFEST: &str = "manifest.json";
/// How the line of a text begins that names its target.
const TARGET_LINE: &str = ".target ";
/// The Rust table of the modules.
pub const INDEX: &str = "modules.rs";

/// The origin and contents of a PTX folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Hash of the sources ([`source::hash`](super::source::hash)).
    pub source_hash: String,
    /// The compiler that built it.
    pub compiler: Compiler,
    /// The PTX version of each target, such as `7.8` for `sm_90`.
    pub targets: BTreeMap<String, String>,
    /// The kernels of each module, in table order.
    pub modules: Modules,
}

/// [`Manifest`] formatted with one line per kernel.
#[derive(Serialize)]
struct ManifestLines<'m> {
    source_hash: &'m str,
    compiler: &'m Compiler,
    targets: &'m BTreeMap<String, String>,
    modules: BTreeMap<&'m str, Vec<Box<RawValue>>>,
}

impl Manifest {
    fn to_text(&self) -> Result<String> {
        let Self { source_hash, compiler, targets, modules } = self;
        let mut lines = BTreeMap::new();
        for (name, entries) in modules {
            let entries = entries.iter().map(to_raw_value).collect::<Result<_, _>>()?;
            lines.insert(name.as_str(), entries);
        }
        let manifest = ManifestLines { source_hash, compiler, targets, modules: lines };
        Ok(serde_json::to_string_pretty(&manifest)? + "\n")
    }
}

/// Everything besides the sources that the bytes of the PTX depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiler {
    /// The first line of `rustc --version`.
    pub rustc: String,
    /// The version of the LLVM tools that translate its bitcode to PTX.
    pub llvm: String,
}

/// The files of a folder: path within the folder, and text.
pub type Files = BTreeMap<String, String>;

/// The files for the modules of each target.
///
/// # Errors
///
/// If the text of a module is not PTX.
pub fn files(
    source_hash: String,
    compiler: Compiler,
    modules: Modules,
    targets: &BTreeMap<Target, BTreeMap<String, String>>,
) -> Result<Files> {
    let mut files = Files::new();
    let mut versions = BTreeMap::new();
    let mut newest: BTreeMap<&str, String> = BTreeMap::new();
    for (target, texts) in targets {
        for (module, text) in texts {
            let version = Ptx::parse(text)?.directive(".version")?.to_owned();
            versions.insert(target.to_string(), version);
            let of_any = without_target(text);
            if newest.get(module.as_str()) != Some(&of_any) {
                newest.insert(module, of_any);
                files.insert(format!("{target}/{module}.ptx"), text.clone());
            }
        }
    }
    let index = index(&files)?;
    let manifest = Manifest { source_hash, compiler, targets: versions, modules };
    files.insert(MANIFEST.to_owned(), manifest.to_text()?);
    files.insert(INDEX.to_owned(), index);
    Ok(files)
}

/// A text without the line that names its target.
fn without_target(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.starts_with(TARGET_LINE)).collect()
}

/// Adds the modules that a target shares with an older one: then each target that has files has all modules.
pub fn complete(files: &mut Files) {
    let mut names: Vec<(Target, String)> = files.keys().filter_map(|name| parts(name)).collect();
    names.sort_unstable();
    let targets: BTreeSet<Target> = names.iter().map(|(target, _)| *target).collect();
    // A target takes the text of the newest one before it.
    for (target, module) in names.iter().rev() {
        for newer in targets.iter().filter(|newer| *newer > target) {
            let (own, other) = (format!("{target}/{module}.ptx"), format!("{newer}/{module}.ptx"));
            if !files.contains_key(&other) {
                let line = |target| format!("{TARGET_LINE}{target}\n");
                files.insert(other, files[&own].replacen(&line(target), &line(newer), 1));
            }
        }
    }
}

/// The target and the module of a file; `None` if it is not PTX.
fn parts(name: &str) -> Option<(Target, String)> {
    let (target, module) = name.strip_suffix(".ptx")?.split_once('/')?;
    Some((target.parse().ok()?, module.to_owned()))
}

/// The text of `modules.rs` for the PTX among the files.
///
/// # Errors
///
/// Only if memory runs out.
pub fn index(files: &Files) -> Result<String> {
    let mut targets: BTreeMap<Target, Vec<String>> = BTreeMap::new();
    for (target, module) in files.keys().filter_map(|name| parts(name)) {
        targets.entry(target).or_default().push(module);
    }
    let mut text = String::from(
        "// Generated by `cargo xtask ptx`; do not edit.\n\n\
         use super::Module;\n\n\
         /// The PTX modules of each target: (compute capability, modules), both sorted. A target has those of the one before,\n\
         /// besides its own.\n\
         #[rustfmt::skip]\n\
         pub(crate) static TARGETS: &[(u32, &[Module])] = &[\n",
    );
    for (target, modules) in targets {
        writeln!(text, "    ({}, &[", target.0)?;
        for module in modules {
            let file = format!("/ptx/{target}/{module}.deflate");
            writeln!(
                text,
                "        (\"{module}\", include_bytes!(concat!(env!(\"OUT_DIR\"), \"{file}\"))),"
            )?;
        }
        writeln!(text, "    ]),")?;
    }
    text.push_str("];\n");
    Ok(text)
}

/// Reads the manifest of a folder.
///
/// # Errors
///
/// If it is missing or invalid.
pub fn read_manifest(folder: &Path) -> Result<Manifest> {
    let path = folder.join(MANIFEST);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not a valid manifest", path.display()))
}

/// Reads the files of a folder: manifest, index and PTX. A folder that does not exist is empty.
///
/// # Errors
///
/// If a file cannot be read.
pub fn read(folder: &Path) -> Result<Files> {
    let mut files = Files::new();
    for name in [MANIFEST, INDEX] {
        if folder.join(name).exists() {
            insert(folder, name.to_owned(), &mut files)?;
        }
    }
    for target in names(folder)?.iter().filter(|name| name.starts_with("sm_")) {
        for module in names(&folder.join(target))? {
            insert(folder, format!("{target}/{module}"), &mut files)?;
        }
    }
    Ok(files)
}

fn insert(folder: &Path, name: String, files: &mut Files) -> Result<()> {
    let path = folder.join(&name);
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    files.insert(name, text);
    Ok(())
}

fn names(folder: &Path) -> Result<BTreeSet<String>> {
    if !folder.is_dir() {
        return Ok(BTreeSet::new());
    }
    let reading = || format!("reading the folder {}", folder.display());
    let entries = fs::read_dir(folder).with_context(reading)?;
    entries.map(|entry| Ok(entry.with_context(reading)?.file_name().to_string_lossy().into_owned())).collect()
}

/// Writes the files, and removes all other PTX.
///
/// # Errors
///
/// If a file cannot be written or removed.
pub fn write(folder: &Path, files: &Files) -> Result<()> {
    for (name, text) in files {
        let path = folder.join(name);
        let writing = || format!("writing {}", path.display());
        fs::create_dir_all(path.parent().unwrap_or(folder)).with_context(writing)?;
        fs::write(&path, text).with_context(writing)?;
    }
    let is_stale = |name: &&String| is_ptx(name) && !files.contains_key(*name);
    for name in read(folder)?.keys().filter(is_stale) {
        let path = folder.join(name);
        fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
    }
    Ok(())
}

/// Returns whether a file of a folder is PTX.
pub fn is_ptx(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "ptx")
}

/// Differences between `found` and `expected`, one line per file; empty if they are equal.
pub fn differences(expected: &Files, found: &Files) -> Vec<String> {
    let names: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let describe = |name: &&String| match (expected.get(*name), found.get(*name)) {
        (Some(expected), Some(found)) if expected == found => None,
        (Some(expected), Some(found)) => {
            let lines = expected.lines().zip(found.lines());
            let line = 1 + lines.take_while(|(expected, found)| expected == found).count();
            Some(format!("{name}: stale, differs from line {line}"))
        }
        (Some(_), None) => Some(format!("{name}: missing")),
        (None, _) => Some(format!("{name}: extra, no such module")),
    };
    names.iter().filter_map(describe).collect()
}

/// Differences between the kernels of two folders in module, name, parameters or block size, which must not
/// depend on the compiler.
///
/// # Errors
///
/// If a file is not PTX.
pub fn interface_differences(expected: &Files, found: &Files) -> Result<Vec<String>> {
    Ok(differences(&interfaces(expected)?, &interfaces(found)?))
}

fn interfaces(files: &Files) -> Result<Files> {
    let modules = files.iter().filter(|(name, _)| is_ptx(name));
    modules
        .map(|(name, text)| {
            let ptx = Ptx::parse(text).with_context(|| name.clone())?;
            let mut interface = String::new();
            for entry in ptx.entries() {
                let (sizes, attributes) = (entry.parameter_sizes()?, entry.attributes()?);
                writeln!(interface, "{} {sizes:?} {attributes}", entry.name)?;
            }
            Ok((name.clone(), interface))
        })
        .collect()
}

/// Keeps only the PTX of the given targets.
pub fn retain_targets(files: &mut Files, targets: &[Target]) {
    files.retain(|name, _| targets.iter().any(|target| name.starts_with(&format!("{target}/"))));
}

/// Fails with a list of the differences, if there are any.
///
/// # Errors
///
/// If `differences` is not empty.
pub fn demand_none(folder: &Path, differences: &[String]) -> Result<()> {
    ensure!(
        differences.is_empty(),
        "{} does not match the sources; run `cargo xtask ptx` and commit the result:\n  {}",
        folder.display(),
        differences.join("\n  ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 7.8\n.target sm_90\n.address_size 64\n\
                       .visible .entry f(.param .u64 x)\n.maxntid 128, 1, 1\n{ ret; }\n";

    fn example() -> Files {
        let entry = super::super::table::Entry {
            name: "f".into(),
            block_size: 128,
            resident_blocks: 0,
            shared_bytes: 0,
            parameters: Vec::new(),
        };
        let modules = Modules::from([("m".to_owned(), vec![entry])]);
        let texts = BTreeMap::from([("m".to_owned(), PTX.to_owned())]);
        let compiler = Compiler { rustc: "rustc 1.0.0".into(), llvm: "1.0".into() };
        files("sha256:0".into(), compiler, modules, &BTreeMap::from([(Target(90), texts)])).unwrap()
    }

    #[test]
    fn a_folder_reads_as_it_was_written_and_keeps_no_stale_ptx() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sm_75")).unwrap();
        fs::write(folder.path().join("sm_75/old.ptx"), PTX).unwrap();
        fs::write(folder.path().join("README"), "stays").unwrap();
        let files = example();
        assert_eq!(differences(&files, &read(folder.path()).unwrap()).len(), 4);
        write(folder.path(), &files).unwrap();
        assert_eq!(read(folder.path()).unwrap(), files);
        assert!(folder.path().join("README").exists());
        let manifest = read_manifest(folder.path()).unwrap();
        assert_eq!(manifest.targets["sm_90"], "7.8");
        assert_eq!(manifest.modules["m"][0].block_size, 128);
    }

    #[test]
    fn a_text_is_stored_for_the_first_target_that_has_it() {
        let of_75 = |text: &str| text.replace("sm_90", "sm_75");
        let other = PTX.replace("ret", "trap; ret");
        let texts = |f: String, g: String| BTreeMap::from([("f".to_owned(), f), ("g".to_owned(), g)]);
        let targets = BTreeMap::from([
            (Target(75), texts(of_75(PTX), of_75(PTX))),
            (Target(90), texts(PTX.to_owned(), other.clone())),
        ]);
        let compiler = Compiler { rustc: "rustc 1.0.0".into(), llvm: "1.0".into() };
        let mut files = files("sha256:0".into(), compiler, Modules::new(), &targets).unwrap();
        let names: Vec<&str> = files.keys().map(String::as_str).filter(|name| is_ptx(name)).collect();
        assert_eq!(names, ["sm_75/f.ptx", "sm_75/g.ptx", "sm_90/g.ptx"]);
        assert_eq!(files[INDEX].matches("include_bytes!").count(), 3);
        complete(&mut files);
        assert_eq!((files["sm_90/f.ptx"].as_str(), &files["sm_90/g.ptx"]), (PTX, &other));
    }

    #[test]
    fn every_kind_of_difference_is_listed() {
        let expected = example();
        let mut found = expected.clone();
        found.insert("sm_90/extra.ptx".into(), PTX.into());
        found.remove(INDEX);
        found.insert("sm_90/m.ptx".into(), PTX.replace("ret", "trap; ret"));
        assert_eq!(
            differences(&expected, &found),
            [
                "modules.rs: missing",
                "sm_90/extra.ptx: extra, no such module",
                "sm_90/m.ptx: stale, differs from line 6",
            ]
        );
        assert_eq!(differences(&expected, &expected), [""; 0]);
    }

    #[test]
    fn another_compiler_may_change_bodies_only() {
        let expected = example();
        for (text, same) in [
            (PTX.replace("ret", "trap; ret"), true),
            (PTX.replace(".param .u64 x", ".param .b64 y"), true),
            (PTX.replace(".param .u64 x", ".param .u32 x"), false),
            (PTX.replace("128", "64"), false),
            (PTX.replace("entry f", "entry g"), false),
        ] {
            let mut found = expected.clone();
            found.insert("sm_90/m.ptx".into(), text.clone());
            assert_eq!(interface_differences(&expected, &found).unwrap().is_empty(), same, "{text}");
        }
    }
}
