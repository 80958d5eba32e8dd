//! `evenpath-bench report`: the checked-in pages match those generated from the checked-in results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::command;

fn report(results: &Path, out: &Path) -> Output {
    command("report")
        .arg("--results")
        .arg(results)
        .arg("--out")
        .arg(out)
        .output()
        .expect("the program starts")
}

/// The page and the plots of a folder.
fn pages(folder: &Path) -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("text").to_owned();
        if name == "README.md" || path.extension().is_some_and(|extension| extension == "svg") {
            pages.insert(name, std::fs::read_to_string(&path).expect("the file"));
        }
    }
    pages
}

fn is_up_to_date(folder: &Path) {
    let made = tempfile::tempdir().expect("a folder");
    let output = report(&folder.join("results"), made.path());
    assert!(output.status.success(), "{output:?}");
    let (expected, found) = (pages(folder), pages(made.path()));
    let names = |pages: &BTreeMap<String, String>| pages.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&expected), names(&found), "{}", folder.display());
    for (name, text) in &found {
        // Not assert_eq, which would print both in full.
        assert!(
            text == &expected[name],
            "{}/{name} differs from what `evenpath-bench report` generates from the results",
            folder.display()
        );
    }
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report")
}

#[test]
fn the_fixture_gives_the_page_beside_it() {
    is_up_to_date(&fixture());
}

#[test]
fn the_checked_in_page_is_that_of_the_checked_in_results() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance");
    if folder.join("results").exists() {
        is_up_to_date(&folder);
    } else {
        // Nothing was measured yet; then nothing may be claimed.
        assert!(!folder.exists(), "{} has a page without results", folder.display());
    }
}

#[test]
fn the_page_has_every_row_of_the_results() {
    let page = std::fs::read_to_string(fixture().join("README.md")).expect("the page");
    let mut matrices = 0;
    for entry in std::fs::read_dir(fixture().join("results")).expect("the results") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a file");
        for line in text.lines() {
            let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let Some(matrix) = row["matrix"].as_str() else { continue };
            assert!(page.contains(&format!("| {matrix} | ")), "{matrix}");
            if let Some(reason) = row["failed"].as_str() {
                assert!(page.contains(&format!(": {reason}\n")), "{reason}");
            }
            matrices += 1;
        }
    }
    assert!(matrices > 20, "{matrices}");
    assert!(page.contains("**0.") && page.contains("sprs"), "wins and losses");
}

#[test]
fn plots_of_an_earlier_page_are_removed_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["old.svg", "notes.txt"] {
        std::fs::write(folder.path().join(name), "x").expect("written");
    }
    assert!(report(&fixture().join("results"), folder.path()).status.success());
    assert!(!folder.path().join("old.svg").exists() && folder.path().join("notes.txt").exists());
    let sizes = pages(folder.path()).into_iter().map(|(name, text)| (text.len(), name)).max();
    assert!(sizes.as_ref().is_some_and(|(bytes, _)| *bytes < 60_000), "{sizes:?}");
}

#[test]
fn what_is_no_result_is_refused_and_nothing_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let output = report(folder.path(), &out);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no file of results"), "{output:?}");
    std::fs::write(folder.path().join("a.jsonl"), "{}\n").expect("written");
    let output = report(folder.path(), &out);
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("a.jsonl, line 1: invalid result"),
        "{output:?}"
    );
    assert!(!out.exists());
}
