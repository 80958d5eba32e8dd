//! Tests of the checked-in PTX in `evenpath/ptx`. They need no device compiler.

use std::collections::BTreeMap;

use xtask::ptx::set::EXAMPLE;
use xtask::ptx::text::Ptx;
use xtask::ptx::{TARGETS, folder, inspect, source, split, table};
use xtask::{checked_in_ptx, root};

/// Functions that kernels may call: none. An exception is listed here, with its reason.
const CALLED_FUNCTIONS: [&str; 0] = [];

/// The checked-in PTX files: path within the folder, and text. Every target has every module.
fn ptx_files() -> folder::Files {
    let mut files = folder::read(&checked_in_ptx()).unwrap();
    folder::complete(&mut files);
    files.retain(|name, _| folder::is_ptx(name));
    assert!(!files.is_empty(), "there is no checked-in PTX; run `cargo xtask ptx`");
    files
}

#[test]
fn ptx_comes_from_these_sources() {
    let manifest = folder::read_manifest(&checked_in_ptx()).unwrap();
    let current = source::hash(&root()).unwrap();
    assert_eq!(
        manifest.source_hash, current,
        "the checked-in PTX is older than the kernels; run `cargo xtask ptx` and commit the result"
    );
}

#[test]
fn manifest_is_the_kernel_table() {
    let manifest = folder::read_manifest(&checked_in_ptx()).unwrap();
    assert_eq!(manifest.modules, table::modules());
    let targets: Vec<_> = TARGETS.iter().map(ToString::to_string).collect();
    assert_eq!(manifest.targets.keys().cloned().collect::<Vec<_>>(), targets);
}

#[test]
fn every_target_has_every_module_and_nothing_else() {
    let expected = TARGETS
        .iter()
        .flat_map(|target| table::modules().into_keys().map(move |module| format!("{target}/{module}.ptx")));
    let mut expected: Vec<_> = expected.collect();
    expected.sort();
    assert_eq!(ptx_files().into_keys().collect::<Vec<_>>(), expected);

    let stored = folder::read(&checked_in_ptx()).unwrap();
    assert_eq!(stored.get("modules.rs"), Some(&folder::index(&stored).unwrap()));
}

#[test]
fn every_module_has_exactly_the_kernels_of_its_table() {
    let modules = table::modules();
    for (name, text) in ptx_files() {
        let (target, module) = name.trim_end_matches(".ptx").split_once('/').unwrap();
        let ptx = Ptx::parse(&text).unwrap();
        split::verify(&ptx, &modules[module]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(ptx.directive(".target").unwrap(), target, "{name}");
        for (kernel, entry) in ptx.entries().zip(&modules[module]) {
            assert_eq!(kernel.name, entry.name, "{name}: kernels are not in table order");
            let directives = entry.directives().replace('\n', " ");
            assert_eq!(kernel.attributes().unwrap(), directives, "{name}: {}", entry.name);
        }
    }
}

#[test]
fn kernels_have_no_local_memory_no_generic_address_and_no_call() {
    let mut findings = BTreeMap::new();
    for (name, text) in ptx_files() {
        let mut found = inspect::findings(&Ptx::parse(&text).unwrap());
        found.retain(|finding| !CALLED_FUNCTIONS.iter().any(|function| finding.contains(function)));
        if !found.is_empty() {
            findings.insert(name, found);
        }
    }
    assert!(findings.is_empty(), "{findings:#?}");
}

/// The kernel is `if t < n { a } barrier(); if t < n { b }`. A compiler that threads the first
/// branch into the second duplicates the barrier, and threads then wait at different barriers.
#[test]
fn a_barrier_between_branches_stays_one_barrier() {
    for target in TARGETS {
        let files = ptx_files();
        let text = &files[&format!("{target}/testing.ptx")];
        let ptx = Ptx::parse(text).unwrap();
        assert_eq!(inspect::barriers(&ptx, "testing_conditional_barrier").unwrap(), 1, "{target}");
    }
}

/// The PTX of the example matches its sources, has only its kernels, and passes the checks of the library's.
#[test]
fn the_example_has_its_ptx() {
    let at = root().join(EXAMPLE.folder);
    let manifest = folder::read_manifest(&at).unwrap();
    assert_eq!(
        manifest.source_hash,
        source::hash_of(&root(), &EXAMPLE).unwrap(),
        "the example's PTX is older than its kernels; run `cargo xtask ptx` and commit the result"
    );
    let modules = table::modules_of((EXAMPLE.kernels)());
    assert_eq!(manifest.modules, modules);
    let mut files = folder::read(&at).unwrap();
    folder::complete(&mut files);
    files.retain(|name, _| folder::is_ptx(name));
    let oldest = format!("{}/", TARGETS[0]);
    assert_eq!(files.keys().filter(|name| name.starts_with(&oldest)).count(), modules.len());
    for (name, text) in files {
        let ptx = Ptx::parse(&text).unwrap();
        let (_, module) = name.trim_end_matches(".ptx").split_once('/').unwrap();
        split::verify(&ptx, &modules[module]).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(inspect::findings(&ptx).is_empty(), "{name}: {:?}", inspect::findings(&ptx));
    }
}
