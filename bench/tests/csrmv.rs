//! `evenpath-bench csrmv`: the CSV, the notes and the exit codes.

use std::collections::HashMap;
use std::path::Path;
use std::process::Output;

use super::{command, stderr};

fn csrmv(arguments: &[&str]) -> Output {
    let own = ["--no-peers", "--repetitions", "2"];
    command("csrmv").args(own).args(arguments).output().expect("the program starts")
}

/// The rows, by column.
fn rows(output: &Output) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_reader(&output.stdout[..]);
    reader.deserialize().map(|row| row.expect("a row with as many fields as the header")).collect()
}

/// Rows of 1, 14, 0, 2 and 3 nonzeros.
fn uneven() -> String {
    let rows = [1, 14, 0, 2, 3].into_iter().enumerate();
    let entries = rows.flat_map(|(row, length)| (1..=length).map(move |col| (row + 1, col, row + col)));
    let lines: Vec<String> = entries.map(|(row, col, value)| format!("{row} {col} {value}.5")).collect();
    format!("%%MatrixMarket matrix coordinate real general\n5 20 20\n{}\n", lines.join("\n"))
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path.to_str().expect("text").to_owned()
}

fn number(row: &HashMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|error| panic!("{column} is `{}`: {error}", row[column]))
}

#[test]
fn the_header_has_the_columns_of_every_method() {
    let output = csrmv(&["--device", "cpu", "--generate", "stencil5:9", "--quiet"]);
    assert_eq!((output.status.code(), &*stderr(&output)), (Some(0), ""));
    let mut reader = csv::Reader::from_reader(&output.stdout[..]);
    let header = reader.headers().expect("a header").clone();
    let columns: Vec<&str> = header.iter().collect();
    assert_eq!(
        columns[..8],
        [
            "file",
            "num_rows",
            "num_cols",
            "num_nonzeros",
            "row_length_mean",
            "row_length_std_dev",
            "row_length_variation",
            "row_length_skewness",
        ]
    );
    assert_eq!(
        columns[8..16],
        [
            "merge_method_name",
            "merge_setup_ms",
            "merge_avg_spmv_ms",
            "merge_gflops",
            "merge_effective_GBs",
            "merge_copy_percent",
            "merge_max_difference",
            "merge_within_bound",
        ]
    );
    let names: Vec<&str> = columns.iter().filter_map(|column| column.strip_suffix("_method_name")).collect();
    assert_eq!((names, columns.len()), (vec!["merge", "direct", "default", "hyb", "peer"], 8 + 5 * 8));
}

#[test]
fn figures_of_a_small_matrix_are_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = write(folder.path(), "une,ven.mtx", &uneven());
    let folder = folder.path().to_str().expect("text");
    for (device, value, bytes) in [("cpu", "f64", 8.0), ("simulated", "f64", 8.0), ("simulated", "f32", 4.0)]
    {
        let output = csrmv(&[
            "--suite", "folder", "--folder", folder, "--device", device, "--value", value, "--quiet",
        ]);
        assert_eq!((output.status.code(), &*stderr(&output)), (Some(0), ""));
        let [row] = &rows(&output)[..] else { panic!("one row") };
        assert_eq!(row["file"], path);
        assert_eq!([&row["num_rows"], &row["num_cols"], &row["num_nonzeros"]], ["5", "20", "20"]);
        // Mean 4; deltas -3, 10, -4, -2, -1: squares sum to 130, cubes to 900. So the deviation is √26, and the skewness
        // 180 / 26^1.5.
        assert_eq!([&row["row_length_mean"], &row["row_length_std_dev"]], ["4.00000", "5.09902"]);
        assert_eq!([&row["row_length_variation"], &row["row_length_skewness"]], ["1.27475", "1.35773"]);
        let names = ["merge", "direct", "hyb"].map(|method| row[&format!("{method}_method_name")].as_str());
        assert_eq!((names, number(row, "direct_setup_ms")), (["merge-path", "direct", "HYB"], 0.0));
        for method in ["merge", "direct", "default", "hyb"] {
            let figure = |column: &str| number(row, &format!("{method}_{column}"));
            assert!(figure("setup_ms") >= 0.0 && figure("max_difference") < 1e-4);
            assert_eq!(row[&format!("{method}_within_bound")], "true");
            // 40 operations; 20 values, columns and elements of x, 5 offsets and elements of y. The time itself is
            // rounded in the table, the rates are compared with each other.
            let effective_bytes = 20.0 * (2.0 * bytes + 4.0) + 5.0 * (4.0 + bytes);
            let (gflops, gbps) = (figure("gflops"), figure("effective_GBs"));
            assert!(gflops > 0.0 && figure("avg_spmv_ms") > 0.0, "{row:?}");
            assert!((gbps - gflops * effective_bytes / 40.0).abs() <= 0.0005 + 1e-5, "{row:?}");
        }
        assert!(
            row.iter().all(|(column, field)| !column.starts_with("peer_") || field.is_empty()),
            "{row:?}"
        );
    }
}

#[test]
fn both_factors_are_applied_on_every_device() {
    for device in ["cpu", "simulated"] {
        for (alpha, beta) in [("2.5", "-0.5"), ("-1", "0"), ("0", "3")] {
            for value in ["f32", "f64"] {
                let arguments = ["--device", device, "--value", value, "--alpha", alpha, "--beta", beta];
                let output = csrmv(&[&arguments[..], &["--generate", "power-law:300,dense:7x90"]].concat());
                assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
                let rows = rows(&output);
                assert_eq!(rows.len(), 2);
                for row in rows {
                    for method in ["merge", "direct", "default", "hyb"] {
                        assert_eq!(row[&format!("{method}_within_bound")], "true", "{row:?}");
                    }
                }
            }
        }
    }
    let output = csrmv(&["--device", "cpu", "--value", "f32", "--alpha", "1e39", "--generate", "stencil5:9"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert!(stderr(&output).contains("is not a finite number of type f32"), "{}", stderr(&output));
}

#[test]
fn results_of_libraries_have_their_largest_difference() {
    let arguments = ["--device", "cpu", "--peers", "sprs", "--repetitions", "2", "--generate", "stencil5:9"];
    let output = command("csrmv").args(arguments).output().expect("the program starts");
    let [row] = &rows(&output)[..] else { panic!("one row") };
    assert!(number(row, "peer_max_difference") < 1e-12, "{row:?}");
    assert_eq!(row["peer_within_bound"], "true");
}

#[test]
fn a_broken_file_does_not_stop_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "a.mtx", &uneven());
    let broken = "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 2.0\n9 3 4.0\n";
    let broken = write(folder.path(), "b.mtx", broken);
    write(folder.path(), "c.mtx", &uneven());
    let missing = folder.path().join("missing.mtx").display().to_string();
    let folder = folder.path().to_str().expect("text");
    let sources =
        ["--generate", "dense:100000x100000", "--matrix", &missing, "--suite", "folder", "--folder", folder];
    let output = csrmv(&[&["--device", "cpu", "--quiet"], &sources[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    let files: Vec<String> =
        rows(&output).into_iter().map(|mut row| row.remove("file").expect("it")).collect();
    assert_eq!(files, ["a.mtx", "c.mtx"].map(|name| format!("{folder}/{name}")));
    let text = stderr(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].starts_with("error: dense:100000x100000: "), "{text}");
    assert!(lines[1].starts_with(&format!("error: {missing}: ")), "{text}");
    assert!(lines[2].starts_with(&format!("error: {broken}:4: ")), "{text}");
}

#[test]
fn trivial_matrices_are_skipped_on_request() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts =
        [("column", "3 1 2\n1 1 1\n3 1 1\n"), ("one", "3 3 1\n2 2 1\n"), ("row", "1 3 2\n1 1 1\n1 3 1\n")];
    for (name, text) in texts.into_iter().chain([("two", "2 2 2\n1 1 1\n2 2 1\n")]) {
        let text = format!("%%MatrixMarket matrix coordinate real general\n{text}");
        write(folder.path(), &format!("{name}.mtx"), &text);
    }
    let folder = folder.path().to_str().expect("text");
    let arguments = ["--device", "simulated", "--suite", "folder", "--folder", folder];
    let output = csrmv(&arguments);
    assert_eq!((output.status.code(), rows(&output).len()), (Some(0), 4), "{}", stderr(&output));
    let output = csrmv(&[&arguments[..], &["--skip-trivial"]].concat());
    let [row] = &rows(&output)[..] else { panic!("one row") };
    assert_eq!((output.status.code(), &row["file"]), (Some(0), &format!("{folder}/two.mtx")));
    let text = stderr(&output);
    for note in
        ["column.mtx: skipped, trivial: 3 × 1 with 2 nonzeros", "one.mtx: skipped", "row.mtx: skipped"]
    {
        assert!(text.contains(note), "{note} in {text}");
    }
    let output = csrmv(&[&arguments[..], &["--skip-trivial", "--quiet"]].concat());
    assert_eq!((stderr(&output).as_str(), rows(&output).len()), ("", 1));
}

#[test]
fn notes_are_those_of_merge_spmv() {
    let output = csrmv(&["--device", "simulated", "--generate", "stencil5:9"]);
    let text = stderr(&output);
    for part in
        ["simulated GPU, copies at ", "\t row_length_skewness: ", "Degree 1e0: ", "merge-path, PASS\nf64: "]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}

/// MKL is measured where it is installed, and otherwise named.
#[test]
fn a_peer_that_is_absent_leaves_its_fields_empty() {
    let output = command("csrmv")
        .args(["--device", "cpu", "--repetitions", "1", "--generate", "stencil5:9"])
        .args(["--alpha", "2", "--beta", "3"])
        .output()
        .expect("the program starts");
    let [row] = &rows(&output)[..] else { panic!("one row") };
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    if text.contains("note: ") {
        assert!(text.contains(" cannot be used: ") && row["peer_method_name"].is_empty(), "{text}{row:?}");
    } else {
        let expected = ("MKL inspector-executor", "true");
        assert_eq!((&*row["peer_method_name"], &*row["peer_within_bound"]), expected);
    }
}
