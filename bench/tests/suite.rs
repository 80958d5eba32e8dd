//! `evenpath-bench suite` as a program: it measures everything, resumes after an interruption, and has a row for every
//! failure.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use super::command;

const MATRICES: &str = "stencil5:12,dense:3x40";
/// Seven operations, three of them with two cases.
const CASES: usize = 10;

fn suite(out: &Path, arguments: &[&str]) -> Output {
    command("suite")
        .args(["--device", "cpu", "--repetitions", "2", "--out"])
        .arg(out)
        .args(arguments)
        .output()
        .expect("the program starts")
}

/// Its stderr; the exit code must be `code`.
fn says(code: i32, out: &Path, arguments: &[&str]) -> String {
    let output = suite(out, arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    text
}

/// The settings and the rows of a file.
fn lines(out: &Path) -> (Vec<Value>, Vec<Value>) {
    let text = std::fs::read_to_string(out).expect("the file");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("one object per line"));
    lines.partition(|line| line.get("setting").is_some())
}

fn keys(rows: &[Value]) -> Vec<String> {
    let fields = ["op", "variant", "suite", "matrix", "value"];
    let mut keys: Vec<String> =
        rows.iter().map(|row| fields.map(|field| row[field].to_string()).join(" ")).collect();
    keys.sort();
    keys
}

#[test]
fn every_case_is_a_row_and_verified() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("results.jsonl");
    let text = says(0, &out, &["--generate", MATRICES, "--peers", "sprs"]);
    let (settings, rows) = lines(&out);
    assert_eq!((settings.len(), rows.len()), (1, 2 * 2 * CASES), "{text}");
    assert!(
        text.contains("[40/40] ") && text.contains("40 of 40 cases measured, 0 failed, 0 wrong"),
        "{text}"
    );
    let setting = &settings[0]["setting"];
    assert_eq!((&setting["device"], &setting["peers"][0]), (&"CPU".into(), &"sprs".into()));
    let command =
        format!("evenpath-bench suite --device cpu --repetitions 2 --generate {MATRICES} --peers sprs");
    assert_eq!(setting["command"], command);
    for row in &rows {
        assert_eq!(row["verified"], true, "{row}");
        assert!(row["ms"].as_f64() > Some(0.0) && row["shape"]["nnz"].as_u64() > Some(0), "{row}");
        if row["op"] == "spmv" {
            let ratio = row["ratio"]["sprs"].as_f64().expect("a ratio");
            let (own, peer) = (row["ms"].as_f64().unwrap(), row["peers"][0]["ms"].as_f64().unwrap());
            assert!((ratio * own / peer - 1.0).abs() < 1e-9, "{row}");
        }
    }
    let mut unique = keys(&rows);
    unique.dedup();
    assert_eq!(unique.len(), rows.len());
}

#[test]
fn an_interrupted_run_goes_on_and_has_the_rows_of_a_whole_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (whole, torn) = (folder.path().join("whole.jsonl"), folder.path().join("torn.jsonl"));
    let arguments = ["--generate", MATRICES, "--op", "spmv,spadd", "--value", "f32"];
    says(0, &whole, &arguments);
    let text = std::fs::read_to_string(&whole).expect("the file");
    // Cut within the fourth row.
    let cut = text.match_indices('\n').nth(4).expect("five lines").0 - 20;
    std::fs::write(&torn, &text[..cut]).expect("written");
    let progress = says(0, &torn, &arguments);
    assert!(progress.contains("[4/6] ") && !progress.contains("[3/6] "), "{progress}");
    let (settings, rows) = lines(&torn);
    assert_eq!(settings.len(), 2);
    assert_eq!(keys(&rows), keys(&lines(&whole).1));
    // Nothing is left, so nothing is written.
    let before = std::fs::read(&torn).expect("the file");
    says(0, &torn, &arguments);
    assert_eq!(std::fs::read(&torn).expect("the file"), before);
}

#[test]
fn time_that_is_up_leaves_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("results.jsonl");
    let arguments = ["--generate", MATRICES, "--op", "spmv", "--limit", "0"];
    let text = says(3, &out, &arguments);
    assert!(text.contains("4 are left: time is up"), "{text}");
    says(0, &out, &arguments[..4]);
    assert_eq!(lines(&out).1.len(), 4);
}

#[test]
fn what_fails_is_a_row_and_can_be_tried_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let matrices = folder.path().join("matrices");
    std::fs::create_dir(&matrices).expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(matrices.join(name), text).expect("a file");
    write("good.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 2.0\n2 3 4.0\n");
    write("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 2.0\n9 3 4.0\n");
    let out = folder.path().join("results.jsonl");
    let path = matrices.to_str().expect("text");
    let arguments = ["--suite", "folder", "--folder", path, "--op", "spmv,spgemm", "--value", "f64"];
    let too_many = [&arguments[..], &["--most-products", "1"]].concat();
    let text = says(0, &out, &too_many);
    assert!(text.contains("4 of 4 cases measured, 3 failed, 0 wrong"), "{text}");
    let (_, rows) = lines(&out);
    let reasons: Vec<_> = rows.iter().map(|row| row["failed"].as_str().unwrap_or_default()).collect();
    assert!(reasons[0].contains("bad.mtx") && reasons[1] == reasons[0], "{reasons:?}");
    assert_eq!(reasons[2..], ["", "2 products are more than 1"]);
    // Failures are not retried by default.
    says(0, &out, &arguments);
    assert_eq!(lines(&out).1.len(), 4);
    write("bad.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 2.0\n");
    let text = says(0, &out, &[&arguments[..], &["--retry-failed"]].concat());
    assert!(text.contains("4 of 4 cases measured, 0 failed, 0 wrong"), "{text}");
    assert_eq!(lines(&out).1.len(), 7);
}

#[test]
fn results_of_another_setting_are_refused_and_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("results.jsonl");
    let arguments = ["--generate", "stencil5:9", "--op", "spmv", "--value", "f64"];
    says(0, &out, &arguments);
    let before = std::fs::read(&out).expect("the file");
    let text = says(1, &out, &[&arguments[..], &["--peers", "sprs"]].concat());
    assert!(
        text.contains("line 1: results of another setting: the list of peers is none there, but sprs here"),
        "{text}"
    );
    assert_eq!(std::fs::read(&out).expect("the file"), before);
}
