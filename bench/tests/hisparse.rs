//! `evenpath-bench hisparse`: files that cannot be read.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn measure(folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_evenpath-bench"))
        .args([
            "hisparse",
            "--suite",
            "folder",
            "--device",
            "cpu",
            "--repetitions",
            "1",
            "--value",
            "f32",
            "--json",
        ])
        .arg("--folder")
        .arg(folder)
        .output()
        .expect("the program starts")
}

#[test]
fn a_file_that_cannot_be_read_is_reported_and_skipped() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n");
    let alone = measure(folder.path());
    assert_eq!(alone.status.code(), Some(1), "nothing was measured");

    write("b.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 3 1.0\n2 1 4.0\n");
    let output = measure(folder.path());
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{stdout}");
    let lines: Vec<Value> =
        stdout.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let of = |name: &str| lines.iter().find(|line| line["matrix"] == name).expect("a line");
    assert!(of("a")["failed"].as_str().is_some_and(|reason| reason.contains("a.mtx")), "{stdout}");
    assert_eq!(of("b")["nnz"], 2, "{stdout}");
}
