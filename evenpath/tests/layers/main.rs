//! The modules of a crate form layers, and no two modules of a folder use each other.
//!
//! The sources are parsed, and every path in them is resolved to the module that defines its item, through re-exports.

mod uses;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use uses::{Use, Uses};

/// The top-level modules of the library, from the bottom up. A module may use modules of lower lines, but
/// none of its own line. `docs/architecture.md` shows them.
const LAYERS: [&[&str]; 14] = [
    &["element", "entry", "keys", "memory", "names", "offset", "parallel", "semiring", "threads"],
    &["scalar"],
    &["convert", "operation", "scale", "values"],
    &["matrix"],
    &["io", "policy", "device"],
    &["cpu"],
    &["operand"],
    &["sequence"],
    &["format"],
    &["op"],
    &["graph"],
    &["interop", "dlpack", "lab"],
    &["error"],
    &["prelude"],
];

/// The crates whose modules must be free of cycles.
const CRATES: [&str; 7] = [
    "src",
    "../simt/src",
    "../kernels/src",
    "../distributed/src",
    "../solvers/src",
    "../bench/src",
    "../bench/support/src",
];

/// The crates whose `mod.rs` files must only declare and re-export.
const DECLARING: [&str; 7] = CRATES;

fn uses_of(folder: &str) -> Uses {
    Uses::of_crate(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
}

/// The uses of a higher layer, or of a neighbor on the same line.
fn against_layers<'a>(uses: &'a Uses, layers: &[&[&str]]) -> Vec<&'a Use> {
    let line = |module: &str| {
        let found = layers.iter().position(|line| line.contains(&module));
        found.unwrap_or_else(|| panic!("`{module}` is on no line of LAYERS"))
    };
    let is_against = |one: &&Use| match (one.user.first(), one.used.first()) {
        (Some(user), Some(used)) => user != used && line(user) <= line(used),
        _ => false,
    };
    uses.all.iter().filter(is_against).collect()
}

/// The uses that are part of a cycle of a folder's modules, one for each pair of modules.
fn circles(uses: &Uses) -> Vec<String> {
    let mut folders: BTreeMap<&[String], BTreeMap<(&str, &str), &Use>> = BTreeMap::new();
    for one in &uses.all {
        let common = one.user.iter().zip(&one.used).take_while(|(user, used)| user == used).count();
        if let (Some(user), Some(used)) = (one.user.get(common), one.used.get(common)) {
            folders.entry(&one.user[..common]).or_default().entry((user, used)).or_insert(one);
        }
    }
    let mut found = Vec::new();
    for (folder, edges) in &folders {
        for &(user, used) in edges.keys() {
            if reaches(edges, used, user) {
                let one = edges[&(user, used)];
                found.push(format!(
                    "in `{}`, `{user}` uses `{used}`, which uses it: {one}",
                    folder.join("::")
                ));
            }
        }
    }
    found
}

/// Returns whether there is a path along the edges.
fn reaches(edges: &BTreeMap<(&str, &str), &Use>, from: &str, to: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::from([from]), vec![from]);
    while let Some(module) = open.pop() {
        if module == to {
            return true;
        }
        open.extend(edges.keys().filter(|edge| edge.0 == module && seen.insert(edge.1)).map(|edge| edge.1));
    }
    false
}

fn lines<T: ToString>(found: &[T]) -> String {
    found.iter().map(T::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn each_layer_uses_only_those_below() {
    let uses = uses_of("src");
    assert!(uses.all.len() > 500, "{} uses: the sources were not read", uses.all.len());
    let found = against_layers(&uses, &LAYERS);
    assert!(found.is_empty(), "these uses go against the layers {LAYERS:?}:\n{}", lines(&found));
}

#[test]
fn no_modules_of_a_folder_use_each_other() {
    for folder in CRATES {
        let found = circles(&uses_of(folder));
        assert!(found.is_empty(), "there are circles of modules in {folder}:\n{}", lines(&found));
    }
}

/// Items defined in a `mod.rs` would be imported by its children from above.
#[test]
fn folders_only_declare_and_re_export() {
    let mut open: Vec<_> =
        DECLARING.iter().map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).collect();
    let (mut read, mut found) = (0, Vec::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder");
            open.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else if path.ends_with("mod.rs") {
            read += 1;
            let file = syn::parse_file(&std::fs::read_to_string(&path).expect("a source file"));
            let is_declaration = |item: &syn::Item| match item {
                syn::Item::Mod(module) => module.content.is_none(),
                syn::Item::Use(_) => true,
                _ => false,
            };
            if !file.expect("a source file").items.iter().all(is_declaration) {
                found.push(path);
            }
        }
    }
    assert!(read > 30, "{read} folders: the sources were not read");
    assert!(found.is_empty(), "these files define items: {found:#?}");
}

#[test]
fn ways_to_multiply_do_not_use_each_other() {
    let is_in = |module: &[String], name: &str| module.iter().take(3).eq(["op", "spgemm", name]);
    let uses = uses_of("src");
    let strategies = ["row_wise", "two_level_sort", "cpu"];
    for user in strategies {
        assert!(uses.all.iter().any(|one| is_in(&one.user, user)), "there is no op::spgemm::{user}");
        for used in strategies.into_iter().filter(|&used| used != user) {
            let found: Vec<_> =
                uses.all.iter().filter(|one| is_in(&one.user, user) && is_in(&one.used, used)).collect();
            assert!(found.is_empty(), "strategies of SpGEMM use each other:\n{}", lines(&found));
        }
    }
}

/// A view that is made elsewhere has an address that a captured graph does not keep.
#[test]
fn views_of_device_memory_are_made_in_the_device_layer() {
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let (mut makers, mut others) = (0, Vec::new());
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder");
            open.extend(entries.map(|entry| entry.expect("an entry").path()));
            continue;
        }
        if std::fs::read_to_string(&path).expect("a source file").contains("::from_device(") {
            if path.iter().any(|part| part == "device") { makers += 1 } else { others.push(path) }
        }
    }
    assert!(makers > 0, "the sources were not read");
    assert!(others.is_empty(), "these files make views of device memory: {others:?}");
}

#[test]
fn violations_are_found() {
    let uses = Uses::of_files(&[
        ("lib.rs", "mod low; mod high; mod beside; pub use high::Thing;"),
        ("low.rs", "fn f(thing: crate::Thing) {}"),
        ("beside.rs", "macro_rules! m { () => { crate::low::f() } }"),
        ("high.rs", "mod a; mod b; pub use b::Thing; #[cfg(test)] mod tests { use crate::beside; }"),
        ("high/a.rs", "use super::b::{self, Thing}; pub struct Part;"),
        ("high/b.rs", "pub struct Thing(super::a::Part);"),
    ]);
    let found = lines(&against_layers(&uses, &[&["low"], &["high", "beside"]]));
    assert_eq!(found, "low.rs:1: `low` uses `high::b`");
    let found = lines(&against_layers(&uses, &[&["high"], &["low", "beside"]]));
    assert_eq!(found, "beside.rs:1: `beside` uses `low`");
    let found = circles(&uses);
    assert_eq!(found.len(), 2, "{}", lines(&found));
    assert!(found[0].starts_with("in `high`, `a` uses `b`"), "{}", found[0]);
    assert!(found[1].ends_with("high/b.rs:1: `high::b` uses `high::a`"), "{}", found[1]);
}
