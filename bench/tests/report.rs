//! `evenpath-bench report`: the checked-in pages match those generated from the checked-in results.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::command;

/// Limit on the bytes of all pages together, without tables and plots.
const MOST_BYTES: usize = 60_000;
/// Limit on the lines of a page.
const MOST_LINES: usize = 150;

fn report(results: &Path, out: &Path) -> Output {
    command("report")
        .arg("--results")
        .arg(results)
        .arg("--out")
        .arg(out)
        .output()
        .expect("the program starts")
}

/// The summary, and the files that it links to.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let read = |path: &Path| std::fs::read_to_string(path).expect("the file");
    let mut files = BTreeMap::from([("README.md".to_owned(), read(&folder.join("README.md")))]);
    for entry in std::fs::read_dir(folder.join("measurements")).expect("the folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("text").to_owned();
        files.insert(name, read(&path));
    }
    files
}

fn is_up_to_date(folder: &Path) {
    let made = tempfile::tempdir().expect("a folder");
    let output = report(&folder.join("results"), made.path());
    assert!(output.status.success(), "{output:?}");
    let (expected, found) = (files(folder), files(made.path()));
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&expected), names(&found), "{}", folder.display());
    for (name, text) in &found {
        // Not assert_eq, which would print both in full.
        assert!(
            text == &expected[name],
            "{}: {name} differs from what `evenpath-bench report` generates from the results",
            folder.display()
        );
    }
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/report")
}

fn checked_in() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance")
}

fn has_extension(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == extension)
}

#[test]
fn the_fixture_gives_the_pages_beside_it() {
    is_up_to_date(&fixture());
}

#[test]
fn the_checked_in_pages_are_those_of_the_checked_in_results() {
    is_up_to_date(&checked_in());
}

#[test]
fn pages_are_short() {
    let is_page = |(name, _): &(String, String)| has_extension(name, "md");
    let pages: Vec<_> = files(&checked_in()).into_iter().filter(is_page).collect();
    for (name, text) in &pages {
        assert!(text.lines().count() < MOST_LINES, "{name} has {} lines", text.lines().count());
    }
    let bytes: usize = pages.iter().map(|(_, text)| text.len()).sum();
    assert!(pages.len() > 10 && bytes <= MOST_BYTES, "{} pages have {bytes} bytes", pages.len());
}

#[test]
fn tables_have_every_row_of_the_results() {
    let files = files(&fixture());
    let tables: String =
        files.iter().filter(|(name, _)| has_extension(name, "csv")).map(|(_, text)| text.as_str()).collect();
    let mut matrices = 0;
    for entry in std::fs::read_dir(fixture().join("results")).expect("the results") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a file");
        for line in text.lines() {
            let row: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let Some(matrix) = row["matrix"].as_str() else { continue };
            assert!(tables.contains(&format!(",{matrix},")), "{matrix}");
            if let Some(reason) = row["failed"].as_str() {
                assert!(tables.contains(&format!("evenpath: {reason}")), "{reason}");
            }
            matrices += 1;
        }
    }
    assert!(matrices > 20, "{matrices}");
    assert!(files["README.md"].contains("sprs") && files["cpu-spmv.md"].contains("1.05 (stencil5:40)"));
}

#[test]
fn spmv_counts_by_its_choice_and_large_matrices_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(fixture().join("results/versions.jsonl")).expect("the file");
    let setting = text.lines().next().expect("a setting").replace("fixture GPU", "judged GPU");
    let row = |matrix: &str, rows: usize| {
        let own = |name: &str, more: &str, ms: f64| {
            format!(r#"{{"library":"evenpath","name":"{name}"{more},"ms":{ms}}}"#)
        };
        let auto = own("auto", r#","chosen":"flat""#, 2.0);
        let ours = [auto, own("flat", "", 2.0), own("vector", "", 1.0), own("sliced-ell", "", 0.5)].join(",");
        format!(
            r#"{{"op":"spmv","variant":"auto, all","suite":"-","matrix":"{matrix}","value":"f64","shape":{{"rows":{rows},"cols":9,"nnz":9}},"verified":true,"work":9,"operations":18,"bytes":99,"method":"sliced-ell","ms":0.5,"ratio":{{"cusparse":6.0}},"ours":[{ours}],"peers":[{{"library":"cusparse","name":"CSR_ALG1","ms":3.0}}]}}"#
        )
    };
    let results = [setting, row("large", 1_000_000), row("small", 9), String::new()].join("\n");
    std::fs::write(folder.path().join("choice.jsonl"), results).expect("written");
    let out = folder.path().join("out");
    let output = report(folder.path(), &out);
    assert!(output.status.success(), "{output:?}");
    let files = files(&out);
    let page = &files["judged-gpu-spmv.md"];
    for line in [
        "| auto, all, f64 | - | cusparse | 1 | 0 | 0 | 1 | 0 | 1.500 | 1.50 (large) |",
        "## Matrices under 4 MB",
        "| auto, all, f64 | - | cusparse | 1 | 0 | 0 | 1 | 0 | 1.500 | 1.50 (small) |",
        "## The choice of a method",
        "Matrices of 4 MB and more:",
        "| f64 | auto | - | 1 | 2.000 | 2.00 (large) | 0 (0 %) | 0 | 1.500 | 1.50 (large) |",
        "| f64 | auto | - | 1 | 2.000 | 2.00 (small) | 0 (0 %) | 0 | 1.500 | 1.50 (small) |",
        "| large | - | auto, all, f64 | 9 | flat | cusparse: 1.50 |",
    ] {
        assert!(page.contains(line), "{line} in\n{page}");
    }
    assert!(!page.contains("| small | - |"), "the lowest ratios are those of large matrices: {page}");
    for line in [
        "| SpMV, auto, all | 0.2.0 | cusparse | 1.500 |",
        "| SpMV, auto, all, under 4 MB | 0.2.0 | cusparse | 1.500 |",
    ] {
        assert!(files["README.md"].contains(line), "{line} in\n{}", files["README.md"]);
    }
}

#[test]
fn files_of_an_earlier_report_are_removed_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let (old, notes) = (folder.path().join("measurements/old.svg"), folder.path().join("notes.txt"));
    std::fs::create_dir(folder.path().join("measurements")).expect("a folder");
    for path in [&old, &notes] {
        std::fs::write(path, "x").expect("written");
    }
    assert!(report(&fixture().join("results"), folder.path()).status.success());
    assert!(!old.exists() && notes.exists());
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
